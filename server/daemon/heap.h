#ifndef FOREBAY_SERVER_DAEMON_HEAP_H_
#define FOREBAY_SERVER_DAEMON_HEAP_H_

namespace forebay::daemon {

// Sets up malloc so that freed memory goes back to the system. Each allocation
// of 2 MiB or more, such as an index, gets a mapping of its own. By default,
// glibc raises this threshold step by step, to at most 32 MiB. The number of
// arenas is at most `cpus` or eight, whichever is larger. By default, glibc
// allows eight arenas for each CPU, and arenas keep freed memory (mallopt(3)).
// The caller calls the function before the first thread starts. No errors.
void SetUpHeap(int cpus);

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_HEAP_H_
