#ifndef FOREBAY_SERVER_DAEMON_HEAP_H_
#define FOREBAY_SERVER_DAEMON_HEAP_H_

namespace forebay::daemon {

// Sets up malloc so that freed memory goes back to the system. Pieces of 2 MiB
// or more, such as indexes, are mapped one by one; by default, glibc raises
// this size step by step to at most 32 MiB. There are at most `cpus` arenas, or
// at most eight if `cpus` is smaller; by default, glibc has eight for each CPU,
// and they keep freed memory (mallopt(3)). Call it before the first thread
// starts. Has no errors.
void SetUpHeap(int cpus);

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_HEAP_H_
