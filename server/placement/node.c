#include "server/placement/node.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The call has no wrapper outside libnuma. The mask counts bits, and the kernel reads one less. */
void node_prefer(int node)
{
    enum { MASK_BITS = 8 * sizeof(unsigned long) };
    const unsigned long mask = node >= 0 ? 1UL << node : 0;
    if (node < 0)
        syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0);
    else
        syscall(SYS_set_mempolicy, MPOL_PREFERRED, &mask, MASK_BITS + 1);
}
