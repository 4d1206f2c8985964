#include "server/storage/http/object_list.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "server/base/mutex.h"
#include "server/base/status.h"
#include "server/base/worker_threads.h"
#include "server/storage/http/awaited_call.h"

namespace forebay::storage::http {
namespace {

// The most folders that are listed at once.
constexpr std::size_t kThreads = 16;
// The longest page, in bytes. A page has 1,000 names, of at most 1,024 bytes
// each.
constexpr std::uint64_t kMaxPageBytes = 16 << 20;
// The most pages in a row that have nothing for the list. Some servers send
// pages of deleted objects, or of objects that stand for folders.
constexpr int kMaxEmptyPages = 3'000;

// Folders that wait for a thread to list them. After the first error, no
// further folder is handed out. Thread-safe.
class FolderQueue {
 public:
  explicit FolderQueue(std::vector<std::string> folders)
      : folders_(std::move(folders)) {}

  // Takes the next folder. Returns false if there are no more, or after an
  // error.
  bool Next(std::string* folder) {
    base::MutexLock lock(&mutex_);
    if (next_ == folders_.size() || !status_.ok()) return false;
    *folder = std::move(folders_[next_++]);
    return true;
  }

  void Done(const absl::Status& status) {
    base::MutexLock lock(&mutex_);
    if (status_.ok()) status_ = status;
  }

  absl::Status status() {
    base::MutexLock lock(&mutex_);
    return status_;
  }

 private:
  base::Mutex mutex_;
  std::vector<std::string> folders_ ABSL_GUARDED_BY(mutex_);
  std::size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

// Asks for a page. DATA_LOSS if several attempts brought no page.
absl::StatusOr<ListPage> FetchPage(Client* client, const PagedPlace& place,
                                   const std::string& token,
                                   const ListOptions& options) {
  ListPage page;
  Call call;
  call.request.url =
      place.url(options.folder, options.folders != nullptr, token);
  call.request.max_body = kMaxPageBytes;
  call.authorizer = place.authorizer;
  call.kind = RequestKind::kList;
  call.fault = place.fault;
  call.judge = [&](const HttpResponse& answer) -> absl::Status {
    if (answer.failure != HttpFailure::kNone)
      return BrokenList("a page is too long");
    FOREBAY_ASSIGN_OR_RETURN(page, place.parse(answer.body));
    return absl::OkStatus();
  };
  const auto answer = Await(client, std::move(call), options.stop);
  FOREBAY_RETURN_IF_ERROR(answer.status());
  return page;
}

}  // namespace

absl::Status BrokenList(absl::string_view reason) {
  return absl::DataLossError(
      absl::StrCat("the list of objects is broken: ", reason));
}

absl::Status ListObjects(Client* client, const PagedPlace& place,
                         const std::function<bool(ListedObject)>& each,
                         const ListOptions& options) {
  std::string token;
  std::optional<std::string> last;
  std::string last_folder;
  int empty_pages = 0;
  do {
    FOREBAY_ASSIGN_OR_RETURN(ListPage page,
                             FetchPage(client, place, token, options));
    for (ListedObject& object : page.objects) {
      if ((last.has_value() && object.name <= *last) ||
          !object.name.starts_with(options.folder))
        return BrokenList("its pages are out of order");
      last = object.name;
      if (!each(std::move(object))) return absl::OkStatus();
    }
    std::sort(page.folders.begin(), page.folders.end());
    for (std::string& folder : page.folders) {
      if (!options.folders) break;
      if (folder < last_folder) return BrokenList("its pages are out of order");
      // Some servers name a folder at the end of a page and at the beginning of
      // the next one.
      if (folder == last_folder) continue;
      last_folder = folder;
      options.folders(std::move(folder));
    }
    empty_pages =
        page.objects.empty() && page.folders.empty() ? empty_pages + 1 : 0;
    if (empty_pages > kMaxEmptyPages ||
        (!page.next_token.empty() && page.next_token == token))
      return BrokenList("its pages do not come to an end");
    token = std::move(page.next_token);
  } while (!token.empty());
  return absl::OkStatus();
}

absl::Status ListEach(
    std::vector<std::string> folders,
    const std::function<absl::Status(const std::string& folder)>& list) {
  const std::size_t threads =
      std::clamp<std::size_t>(folders.size(), 1, kThreads);
  FolderQueue queue(std::move(folders));
  const auto work = [&] {
    std::string folder;
    while (queue.Next(&folder)) queue.Done(list(folder));
  };
  base::RunOnThreads(threads, work);
  return queue.status();
}

absl::Status ListByFolder(Client* client, const PagedPlace& place,
                          const std::function<void(ListedObject)>& each,
                          const std::stop_token& stop) {
  const auto take = [&each](ListedObject object) {
    each(std::move(object));
    return true;
  };
  std::vector<std::string> folders;
  const auto add = [&folders](std::string folder) {
    folders.push_back(std::move(folder));
  };
  FOREBAY_RETURN_IF_ERROR(ListObjects(
      client, place, take, {.folder = "", .folders = add, .stop = stop}));

  return ListEach(std::move(folders), [&](const std::string& folder) {
    return ListObjects(client, place, take,
                       {.folder = folder, .folders = nullptr, .stop = stop});
  });
}

}  // namespace forebay::storage::http
