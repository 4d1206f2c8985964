#ifndef FOREBAY_CLIENT_CORE_REMOTE_LOADER_H_
#define FOREBAY_CLIENT_CORE_REMOTE_LOADER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "client/base/status.h"
#include "client/core/epoch_position.h"
#include "client/core/open_request.h"
#include "client/core/subscription.h"
#include "client/device/gpu.h"
#include "client/forebay.h"
#include "client/wire/session.h"
#include "proto/fd.h"
#include "proto/session.message.h"

namespace forebay::client::core {

// A loader at one daemon; sends the loader's requests to that daemon. Loader
// makes a new RemoteLoader for each daemon that it attaches to.
//
// Any thread may call IsLost and GetCounters; the other methods belong to one
// thread at a time. Shares the subscription with the batches that are held.
// Blocks as wire::Session does. Errors: those of wire::Session; INTERNAL if an
// answer is malformed.
class RemoteLoader {
 public:
  // Connects to a daemon and asks it for the loader. Blocks, and fails, as
  // OpenRequest::SendOpenLoader does.
  static Status Request(const OpenRequest& open_request,
                        std::shared_ptr<RemoteLoader>* out);
  // Takes over a session. `request`: the id of the request to open the loader,
  // which was sent on `session`. `gpu`: the GPU on which batches shall lie;
  // null if they shall lie on the host.
  RemoteLoader(std::unique_ptr<wire::Session> session, std::uint64_t request,
               std::shared_ptr<device::Gpu> gpu)
      : subscription_(Subscription::Create(std::move(session))),
        request_(request),
        gpu_(std::move(gpu)) {}

  Subscription& subscription() { return *subscription_; }
  // Whether the daemon has hung up.
  bool IsLost() const { return subscription_->session().IsLost(); }
  // Whether the daemon has opened the loader.
  bool is_open() const { return is_open_.load(); }

  // Waits until the daemon has opened the loader, at most `timeout_nanos`, and
  // maps the rings. After TIMEOUT and INTERRUPTED, call again. If there are too
  // many classes for the answer, sets *class_list to a memfd with the classes.
  // FAILED_PRECONDITION: batches shall lie on a GPU, but the daemon is too old
  // for GPUs.
  Status Open(std::int64_t timeout_nanos, message::LoaderOpened* opened,
              proto::Fd* class_list);

  // Asks the daemon to make the batches of an epoch from `position` on.
  // `slots`: the memfds of the epoch's slots, which StartEpoch does not map. If
  // batches lie on a GPU, each memfd is followed by the descriptor of the
  // slot's part on the GPU. UNAVAILABLE if the daemon has not opened the
  // loader.
  Status StartEpoch(const EpochPosition& position,
                    message::EpochStarted* started,
                    std::vector<proto::Fd>* slots);
  // Stops the epoch, and releases the batches that nobody has taken.
  Status StopEpoch();
  // Maps the slots up to number `slot`, if the daemon has added them during the
  // epoch. INTERNAL if the daemon has no such slot.
  Status FetchSlot(std::uint32_t slot);
  // Asks the daemon for the loader's counters, and adds the client's own from
  // the rings. UNAVAILABLE if the daemon has not opened the loader.
  Status GetCounters(message::LoaderCounters* out);
  // Asks for the socket of a worker pool, which forks at most `workers`
  // workers. UNAVAILABLE if the daemon has not opened the loader.
  Status StartWorkers(std::uint32_t workers, bool are_persistent,
                      proto::Fd* socket);
  // Closes the loader, if the daemon has opened it and is there. Ends the
  // session once no batch is held.
  void Close();

 private:
  Status CheckOpen() const;
  // If the daemon puts batches on a GPU, tells the subscription which one.
  // FAILED_PRECONDITION if the daemon is too old for GPUs.
  Status Place(const message::LoaderOpened& opened);
  // Takes and releases every entry before number `published`, the number of
  // entries that the daemon has published.
  void Drain(std::uint64_t published);

  const std::shared_ptr<Subscription> subscription_;
  const std::uint64_t request_;
  const std::shared_ptr<device::Gpu> gpu_;
  std::uint64_t id_ =
      0;  // the daemon's number for this loader; set before is_open_
  std::atomic<bool> is_open_{false};
};

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_REMOTE_LOADER_H_
