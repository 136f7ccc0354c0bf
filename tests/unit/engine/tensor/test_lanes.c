#include "engine/tensor/lanes.h"
#include "tests/support/suite.h"

#include <string.h>

enum { MEMBERS_MAX = 70, ROUNDS = 3, THINGS_MAX = 70 };

static unsigned char times[ROUNDS][THINGS_MAX];

/* Member `index` takes up to `most` tasks. Returns how many it had. */
static size_t take(struct lanes *lanes, unsigned index, size_t most)
{
    struct lane_cursor at = lanes_begin(lanes, index);
    size_t taken = 0, round, thing;
    for (; taken < most && lanes_take(lanes, &at, &round, &thing); taken++) {
        ck_assert_uint_lt(round, ROUNDS);
        ck_assert_uint_lt(thing, lanes->things);
        times[round][thing]++;
    }
    return taken;
}

static void expect_each_once(size_t things)
{
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t thing = 0; thing < THINGS_MAX; thing++)
            ck_assert_uint_eq(times[round][thing], thing < things);
}

/* There are more things than members and fewer, and more members than lanes. */
START_TEST(lanes_give_each_task_once_to_any_number_of_members)
{
    static const size_t things[] = {1, 2, 5, 12, 64, 70};
    struct lanes lanes;
    for (unsigned members = 1; members <= MEMBERS_MAX; members++)
        for (size_t i = 0; i < sizeof things / sizeof things[0]; i++) {
            memset(times, 0, sizeof times);
            lanes_init(&lanes, members, ROUNDS, things[i]);
            size_t left = ROUNDS * things[i];
            for (unsigned m = 0; m < members; m++)
                left -= take(&lanes, m, 2);
            left -= take(&lanes, members - 1, SIZE_MAX);
            ck_assert_uint_eq(left, 0);
            ck_assert_uint_eq(take(&lanes, 0, SIZE_MAX), 0);
            expect_each_once(things[i]);
        }
}
END_TEST

/* Twelve heads, three members: heads 4 to 7 are the second one's in all rounds; then it helps the
 * third. */
START_TEST(lanes_begin_with_a_member_s_own_share_and_go_on_with_the_next)
{
    struct lanes lanes;
    lanes_init(&lanes, 3, ROUNDS, 12);
    struct lane_cursor at = lanes_begin(&lanes, 1);
    size_t round, thing;
    for (size_t lane = 1; lane < 4; lane++)
        for (size_t task = 0; task < 4 * ROUNDS; task++) {
            ck_assert(lanes_take(&lanes, &at, &round, &thing));
            ck_assert_uint_eq(round, task / 4);
            ck_assert_uint_eq(thing, lane % 3 * 4 + task % 4);
        }
    ck_assert(!lanes_take(&lanes, &at, &round, &thing));
}
END_TEST

SUITE("lanes", lanes_give_each_task_once_to_any_number_of_members,
      lanes_begin_with_a_member_s_own_share_and_go_on_with_the_next)
