#ifndef FOREBAY_SERVER_DAEMON_HEAP_H_
#define FOREBAY_SERVER_DAEMON_HEAP_H_

namespace forebay::daemon {

// Sets up malloc so that freed memory goes back to the system. Pieces of 2 MiB
// or more, such as indexes, are mapped one by one, and there are at most `cpus`
// arenas, or eight. By default, glibc raises the size from which it maps a
// piece, up to 32 MiB. It also has eight arenas for each CPU, which keep freed
// memory (mallopt(3)). Call it before the first thread starts. Has no errors.
void SetUpHeap(int cpus);

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_HEAP_H_
