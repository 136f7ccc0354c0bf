#include "engine/base/clock.h"
#include "engine/base/team.h"
#include "tests/support/suite.h"

#include <stdatomic.h>
#include <unistd.h>

struct tally {
    atomic_uint calls;
    unsigned by_index[8];
    unsigned count;
};

static void count_call(void *context, unsigned index, unsigned count)
{
    struct tally *tally = context;
    atomic_fetch_add(&tally->calls, 1);
    tally->by_index[index]++;
    if (index == 0)
        tally->count = count;
}

START_TEST(team_runs_every_member_once_for_each_task)
{
    for (unsigned threads = 1; threads <= 8; threads++) {
        struct team *team;
        struct err err = {0};
        struct tally tally = {0};
        ck_assert_int_eq(team_open(&team, threads, &err), ERR_OK);
        for (int i = 0; i < 500; i++)
            team_run(team, count_call, &tally);
        ck_assert_uint_eq(tally.calls, 500 * threads);
        ck_assert_uint_eq(tally.count, threads);
        for (unsigned i = 0; i < threads; i++)
            ck_assert_uint_eq(tally.by_index[i], 500);
        team_close(team);
    }
}
END_TEST

START_TEST(team_wakes_after_its_members_went_to_sleep)
{
    struct team *team;
    struct err err = {0};
    struct tally tally = {0};
    ck_assert_int_eq(team_open(&team, 3, &err), ERR_OK);
    for (int i = 0; i < 5; i++) {
        usleep(5000);
        team_run(team, count_call, &tally);
    }
    ck_assert_uint_eq(tally.calls, 15);
    team_close(team);
}
END_TEST

static void oversleep(void *context, unsigned index, unsigned count)
{
    if (index > 0)
        usleep(1000);
    count_call(context, index, count);
}

START_TEST(team_waits_asleep_for_members_that_take_long)
{
    struct team *team;
    struct err err = {0};
    struct tally tally = {0};
    ck_assert_int_eq(team_open(&team, 4, &err), ERR_OK);
    for (unsigned i = 1; i <= 50; i++) {
        team_run(team, oversleep, &tally);
        ck_assert_uint_eq(tally.calls, 4 * i);
    }
    team_close(team);
}
END_TEST

/* Pauses around the length of the spin: members are caught spinning, falling asleep and asleep. */
START_TEST(team_loses_no_task_whenever_it_comes)
{
    struct team *team;
    struct err err = {0};
    struct tally tally = {0};
    ck_assert_int_eq(team_open(&team, 2, &err), ERR_OK);
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t end_ns = clock_now_ns() + 60000 + i * 60;
        while (clock_now_ns() < end_ns)
            continue;
        team_run(team, count_call, &tally);
    }
    ck_assert_uint_eq(tally.calls, 2000);
    team_close(team);
}
END_TEST

SUITE("team", team_runs_every_member_once_for_each_task, team_wakes_after_its_members_went_to_sleep,
      team_waits_asleep_for_members_that_take_long, team_loses_no_task_whenever_it_comes)
