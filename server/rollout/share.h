/* share.h - chooses the requests that belong to a share of the traffic: always the same ones.
 *
 *     double point = share_point("split", "wafer-vit", "lot-4711");      0.20, today and tomorrow
 *     if (point < 0.5) ...                                               in a share of one half
 *
 * Points are uniform over 0..1 and independent of each other for other texts, so that half of the
 * lots, not half of each lot, are in a share of one half; a share that grows keeps those that it
 * had. Not secret: who chooses the key chooses the share. Threads: no state.
 */
#ifndef ATTND_SERVER_ROLLOUT_SHARE_H
#define ATTND_SERVER_ROLLOUT_SHARE_H

/* A number from 0 to 1, 1 excluded. `use` keeps different decisions about one request apart. */
double share_point(const char *use, const char *model, const char *key);

#endif
