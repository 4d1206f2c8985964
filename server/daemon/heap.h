#ifndef FOREBAY_SERVER_DAEMON_HEAP_H_
#define FOREBAY_SERVER_DAEMON_HEAP_H_

namespace forebay::daemon {

// Sets up malloc so that freed memory goes back to the system. Large pieces,
// such as indexes, are mapped one by one; there are no more arenas than `cpus`,
// or a few. By default malloc learns to keep pieces of up to 32 MiB in arenas,
// eight a CPU. To be called before the first thread starts.
void SetUpHeap(int cpus);

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_HEAP_H_
