/* node.h - memory of one node for what a thread takes from now on: set_mempolicy(2) with
 * MPOL_PREFERRED. Pages that it, and threads that it starts meanwhile, touch first come from there
 * while there are any.
 *
 *     node_prefer(1);
 *     engine_open(...);
 *     node_prefer(NODE_ANY);
 *
 * A system that refuses takes memory as ever. Threads: each has its own.
 */
#ifndef ATTND_SERVER_PLACEMENT_NODE_H
#define ATTND_SERVER_PLACEMENT_NODE_H

enum { NODE_ANY = -1 };

/* node: below TOPOLOGY_NODES_MAX, or NODE_ANY. */
void node_prefer(int node);

#endif
