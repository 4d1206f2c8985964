#ifndef FOREBAY_CLIENT_LOADER_H_
#define FOREBAY_CLIENT_LOADER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "client/dataset.h"
#include "client/forebay.h"
#include "client/link.h"
#include "client/session_codec.h"
#include "client/status.h"

namespace forebay::client {

// A loader: opened once, then read an epoch at a time. Its contract on threads,
// blocking and errors is that of forebay_loader in forebay.h. Owns a link,
// which its batches may outlive.
class Loader {
 public:
  // `dataset` null: the one that the options describe.
  static Status Create(const forebay_loader_options& options,
                       const Dataset* dataset, const std::string& pipeline,
                       std::unique_ptr<Loader>* out);
  ~Loader() { Close(); }

  Status Open(std::int64_t timeout_nanos);
  // Null until Open has succeeded.
  const LoaderOpened* opened() const {
    return open_.load() ? &opened_ : nullptr;
  }
  Status StartEpoch(std::uint64_t epoch, std::uint64_t first_sample);
  // The epoch is these samples: the loader's order is FOREBAY_LISTED.
  Status StartListedEpoch(std::uint64_t epoch, const std::int64_t* samples,
                          size_t count, std::uint64_t first_sample);
  Status Next(std::int64_t timeout_nanos, forebay_batch** out);
  Status StopEpoch();
  Status GetStats(forebay_loader_stats* out);
  void Close();

 private:
  Loader(std::shared_ptr<Link> link, std::uint64_t open_request)
      : link_(std::move(link)), open_request_(open_request) {}

  Status CheckOpen() const;
  Status TakeOpened(Reply reply);
  // `list`: a descriptor of the epoch's samples; -1: there is none.
  Status Start(std::uint64_t epoch, std::uint64_t first_sample, int list);
  Status StopEpochLocked();
  // Takes the next entry, which is there.
  Status TakeLocked(forebay_batch** out);
  // Takes and gives back every entry before number `published`.
  void DrainLocked(std::uint32_t published);
  void EndEpochLocked();

  const std::shared_ptr<Link> link_;
  const std::uint64_t open_request_;
  LoaderOpened opened_;  // written before open_ is set
  std::atomic<bool> open_{false};
  std::atomic<bool> closed_{false};

  std::mutex reader_;  // of the rings: guards what follows
  bool epoch_under_way_ = false;
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_LOADER_H_
