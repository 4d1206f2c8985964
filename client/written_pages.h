#ifndef FOREBAY_CLIENT_WRITTEN_PAGES_H_
#define FOREBAY_CLIENT_WRITTEN_PAGES_H_

#include <memory>

#include "client/fd.h"
#include "client/page_table.h"
#include "client/private_pages.h"

namespace forebay::client {

// PageSearch::kWritten: keeps watched pages write-protected by a userfaultfd in
// asynchronous mode, where the kernel itself lets a write pass and takes the
// protection away. What is unprotected has been written.
class WrittenPages : public PrivatePages {
 public:
  // Null if the kernel does not grant it: before Linux 6.7, or in a sandbox.
  static std::shared_ptr<WrittenPages> Create();

  PageSearch search() const override { return PageSearch::kWritten; }
  void Watch(void* memory, size_t bytes) override;
  void Drop(void* memory, size_t bytes) override;

 private:
  explicit WrittenPages(Fd fault) : fault_(std::move(fault)) {}

  // Makes all pages present and protects them.
  void Arm(PageRun range) const;
  void Protect(PageRun range) const;

  const Fd fault_;
  const PageTable table_;
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_WRITTEN_PAGES_H_
