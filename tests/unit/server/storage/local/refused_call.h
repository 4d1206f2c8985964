#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_LOCAL_REFUSED_CALL_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_LOCAL_REFUSED_CALL_H_

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdlib>

namespace forebay::storage::local {

// Makes the kernel answer `error_number` to `system_call` from now on, as the
// seccomp filters of containers do. The refusal holds for the calling thread
// and for threads that it starts later. It cannot be undone, so the thread must
// end with the test.
inline void RefuseSystemCall(int system_call, int error_number) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(system_call), 0,
               1),
      BPF_STMT(BPF_RET | BPF_K,
               SECCOMP_RET_ERRNO | static_cast<unsigned>(error_number)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    std::abort();
}

}  // namespace forebay::storage::local

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_LOCAL_REFUSED_CALL_H_
