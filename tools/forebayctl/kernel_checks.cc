#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/forebayctl/host_checks.h"

namespace forebay::ctl {
namespace {

// The argument of the ioctl PAGEMAP_SCAN, struct pm_scan_arg of linux/fs.h. The
// headers of Debian 12 are older than the ioctl (Linux 6.7).
struct PagemapScanArguments {
  std::uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
  std::uint64_t category_inverted, category_mask, category_anyof_mask;
  std::uint64_t return_mask;
};
constexpr unsigned long kPagemapScan =
    _IOC(_IOC_READ | _IOC_WRITE, 'f', 16, sizeof(PagemapScanArguments));

// Returns a finding that says whether a feature works.
Finding Judge(bool works, const std::string& subject, const std::string& good,
              Finding::Level level, const std::string& bad) {
  return works ? Finding{Finding::Level::kOk, subject, good}
               : Finding{level, subject, bad};
}

// Returns whether openat2(2) works with RESOLVE_BENEATH, by which datasets are
// opened so that no link leads out of their root.
bool HasOpenat2() {
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH;
  const int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  const long fd = syscall(SYS_openat2, root, ".", &how, sizeof(how));
  if (fd >= 0) close(static_cast<int>(fd));
  if (root >= 0) close(root);
  return fd >= 0;
}

// Returns whether pidfd_open(2) works, by which the end of a client is noticed.
bool HasPidfd() {
  const long fd = syscall(SYS_pidfd_open, getpid(), 0);
  if (fd >= 0) close(static_cast<int>(fd));
  return fd >= 0;
}

// Returns whether memory can be sealed as slots are: against growing, shrinking
// and new writable mappings (memfd_create(2)).
bool HasSealedMemfd() {
  const int fd =
      memfd_create("forebay-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return false;
  const bool sealed = posix_fallocate(fd, 0, 4096) == 0 &&
                      fcntl(fd, F_ADD_SEALS,
                            F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW |
                                F_SEAL_SEAL) == 0;
  close(fd);
  return sealed;
}

}  // namespace

std::vector<Finding> CheckKernel() {
  std::vector<Finding> findings = {
      Judge(HasOpenat2(), "openat2", "Datasets are read beneath their root.",
            Finding::Level::kProblem,
            "openat2 does not work here: the kernel is older than 5.6, or a "
            "seccomp filter forbids it."),
      Judge(HasPidfd(), "pidfd", "Trainers that die are noticed at once.",
            Finding::Level::kProblem,
            "pidfd_open does not work here: the kernel is older than 5.3, or "
            "a seccomp filter forbids it."),
      Judge(HasSealedMemfd(), "memfd", "Batches can be shared, sealed.",
            Finding::Level::kProblem,
            "Sealed memfds do not work here: the kernel is older than 5.1, or "
            "no shared memory is left."),
  };
  const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  findings.push_back(
      Judge(pagemap >= 0, "pagemap", "Writes into a batch are found by page.",
            Finding::Level::kNote,
            "/proc/self/pagemap cannot be opened here: batches that a trainer "
            "writes into cost a little more."));
  if (pagemap >= 0) {
    PagemapScanArguments scan = {};
    scan.size = sizeof(scan);
    const bool has_scan =
        ioctl(pagemap, kPagemapScan, &scan) >= 0 || errno != ENOTTY;
    findings.push_back(Judge(has_scan, "PAGEMAP_SCAN",
                             "The kernel scans pagemaps itself.",
                             Finding::Level::kOk,
                             "The kernel is older than 6.7 and cannot scan "
                             "pagemaps itself; they are read instead."));
    close(pagemap);
  }
  return findings;
}

}  // namespace forebay::ctl
