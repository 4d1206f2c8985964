// The C interface to producers (forebay_producer.h): checks that pointers are
// not null, and translates. All other code calls producers "workers".

#include "client/forebay_producer.h"

#include <memory>
#include <string_view>
#include <utility>

#include "client/abi/guard.h"
#include "client/abi/handles.h"
#include "client/core/order.h"
#include "client/wire/dataset.h"
#include "proto/fd.h"
#include "proto/worker_socket.h"

using forebay::client::Status;
using forebay::client::abi::Complete;
using forebay::client::abi::Guard;
using forebay::client::core::DrawOrder;
using forebay::client::wire::Dataset;

namespace {

constexpr size_t kIdentityBytes = 16;  // bytes of a dataset's version

forebay_status StartProducers(forebay_loader* loader, uint32_t producers,
                              bool are_persistent, int* socket) {
  return Guard(loader != nullptr && socket != nullptr, [&] {
    forebay::proto::Fd host;
    Status status =
        loader->loader->StartWorkers(producers, are_persistent, &host);
    if (status.ok()) *socket = host.Release();
    return status;
  });
}

}  // namespace

forebay_status forebay_dataset_from_producers(
    const char* uri, const uint8_t* identity, uint64_t samples,
    const forebay_array* fields, size_t count, forebay_dataset** out) {
  return Guard(uri != nullptr && identity != nullptr && fields != nullptr &&
                   out != nullptr,
               [&] {
                 auto handle = std::make_unique<forebay_dataset>();
                 Status status = Dataset::FromWorkers(
                     uri,
                     std::string_view(reinterpret_cast<const char*>(identity),
                                      kIdentityBytes),
                     samples, fields, count, &handle->dataset);
                 if (status.ok()) *out = handle.release();
                 return status;
               });
}

forebay_status forebay_dataset_set_lanes(forebay_dataset* dataset,
                                         uint32_t lanes) {
  return Guard(dataset != nullptr, [&] {
    if (lanes < 1 || lanes > forebay::proto::kMaxWorkers)
      return Status(FOREBAY_INVALID_ARGUMENT, "there are 1 to 256 lanes");
    dataset->dataset.SetAffinityWorkers(lanes);
    return Status();
  });
}

forebay_status forebay_dataset_set_live(forebay_dataset* dataset) {
  return Guard(dataset != nullptr, [&] {
    dataset->dataset.SetLive();
    return Status();
  });
}

forebay_status forebay_dataset_set_host_fields(forebay_dataset* dataset,
                                               uint32_t count) {
  return Guard(dataset != nullptr, [&] {
    dataset->dataset.SetHostFields(count);
    return Status();
  });
}

forebay_status forebay_pipeline_add_user_code(forebay_pipeline* pipeline,
                                              const uint8_t* identity,
                                              forebay_dtype dtype,
                                              const uint64_t* shape,
                                              size_t rank, int finished) {
  return Guard(pipeline != nullptr && identity != nullptr &&
                   (shape != nullptr || rank == 0),
               [&] {
                 pipeline->spec.ops.push_back({forebay::message::UserCode{
                     .identity = {identity, identity + kIdentityBytes},
                     .dtype = dtype,
                     .shape = {shape, shape + rank},
                     .finished = finished != 0}});
                 return Status();
               });
}

forebay_status forebay_loader_start_producers(forebay_loader* loader,
                                              uint32_t producers, int* socket) {
  return StartProducers(loader, producers, /*are_persistent=*/false, socket);
}

forebay_status forebay_loader_start_persistent_producers(forebay_loader* loader,
                                                         uint32_t producers,
                                                         int* socket) {
  return StartProducers(loader, producers, /*are_persistent=*/true, socket);
}

forebay_status forebay_draw_order(const forebay_loader_options* options,
                                  uint64_t dataset_size, uint64_t epoch,
                                  uint64_t first, uint64_t* samples,
                                  size_t* count) {
  return Guard(options != nullptr && samples != nullptr && count != nullptr,
               [&] {
                 return DrawOrder(Complete(*options), dataset_size, epoch,
                                  first, samples, count);
               });
}
