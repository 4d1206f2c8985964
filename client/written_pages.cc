#include "client/written_pages.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <optional>

namespace forebay::client {
namespace {

// Features as in linux/userfaultfd.h of Linux 6.7, which older headers lack.
constexpr std::uint64_t kWriteProtect = 1 << 0;
constexpr std::uint64_t kWriteProtectSharedMemory = 1 << 12;
constexpr std::uint64_t kWriteProtectUnpopulated = 1 << 13;
constexpr std::uint64_t kWriteProtectAsync = 1 << 15;

// Handles faults of user code alone, which needs no privilege; asynchronous
// mode lets the kernel's own writes pass all the same.
constexpr int kUserModeOnly = 1;

constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, Linux 5.14

// A larger share of a mapping than this, and all of it is made present again at
// once: a page of a watched mapping that is missing costs a fault of its own,
// where else one fault brings sixteen.
constexpr std::uint64_t kManyPages = 16;

}  // namespace

std::shared_ptr<WrittenPages> WrittenPages::Create() {
  Fd fault(static_cast<int>(
      syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | kUserModeOnly)));
  if (!fault) return nullptr;
  struct uffdio_api api = {};
  api.api = UFFD_API;
  api.features = kWriteProtect | kWriteProtectSharedMemory |
                 kWriteProtectUnpopulated | kWriteProtectAsync;
  if (ioctl(fault.get(), UFFDIO_API, &api) != 0) return nullptr;
  return std::shared_ptr<WrittenPages>(new WrittenPages(std::move(fault)));
}

void WrittenPages::Arm(PageRun range) const {
  const std::uint64_t bytes = range.end - range.start;
  madvise(reinterpret_cast<void*>(range.start), bytes, kPopulateRead);
  struct uffdio_register enrol = {};
  enrol.range = {range.start, bytes};
  enrol.mode = UFFDIO_REGISTER_MODE_WP;
  ioctl(fault_.get(), UFFDIO_REGISTER, &enrol);
  Protect(range);
}

void WrittenPages::Protect(PageRun range) const {
  struct uffdio_writeprotect protect = {};
  protect.range = {range.start, range.end - range.start};
  protect.mode = UFFDIO_WRITEPROTECT_MODE_WP;
  ioctl(fault_.get(), UFFDIO_WRITEPROTECT, &protect);
}

void WrittenPages::Watch(void* memory, size_t bytes) {
  const PageRun range = PagesOf(memory, bytes);
  // Memory that is locked as it is mapped comes with pages made private.
  ForgetPages(range);
  Arm(range);
}

void WrittenPages::Drop(void* memory, size_t bytes) {
  const PageRun range = PagesOf(memory, bytes);
  std::optional<PageRuns> runs = table_.ScanWritten(range);
  if (!runs || runs->size() > kMaxPageRuns) runs = PageRuns{range};
  std::uint64_t written = 0;
  for (const PageRun& run : *runs) written += run.end - run.start;
  const bool many = written > bytes / kManyPages;
  for (const PageRun& run : *runs) {
    // A page that is not forgotten must stay unprotected, to be found again.
    if (ForgetPages(run) && !many) Protect(run);
  }
  if (!many) return;
  struct uffdio_range all = {range.start, bytes};
  ioctl(fault_.get(), UFFDIO_UNREGISTER, &all);
  Arm(range);
}

}  // namespace forebay::client
