// The C interface of forebay.h: checks that pointers are not null, translates
// between C's types and the library's, and turns exceptions into statuses. This
// file decides nothing else.

#include "client/forebay.h"

#include <stddef.h>
#include <string.h>

#include <algorithm>
#include <memory>
#include <string>

#include "client/abi/guard.h"
#include "client/abi/handles.h"
#include "client/base/deadline.h"
#include "client/core/loader.h"
#include "client/core/reattach_seconds.h"
#include "client/core/subscription.h"
#include "client/wire/daemon_socket.h"
#include "proto/version.h"

namespace client = forebay::client;
using client::Nanos;
using client::Status;
using client::abi::Guard;
using client::core::Loader;
using forebay::message::LoaderCounters;
using forebay::message::LoaderOpened;

namespace {

// View copies the daemon's layouts as they are, so the C struct has the same
// layout.
static_assert(sizeof(forebay_field_layout) ==
              sizeof(forebay::proto::FieldLayout));
static_assert(offsetof(forebay_field_layout, row_splits_offset) ==
              offsetof(forebay::proto::FieldLayout, row_splits_offset));
static_assert(FOREBAY_MAX_FIELDS == forebay::proto::kMaxFields);

// Describes a batch in *out, which still describes the previous batch. Most
// batches have the same layout as the previous one, so `layout` is raised only
// if the layout differs. The caller then updates its own description of the
// fields.
void View(forebay_batch* batch, forebay_batch_view* out) {
  out->batch = batch;
  out->data = batch->data;
  out->bytes =
      batch->mapping != nullptr ? batch->mapping->bytes() : batch->copy_bytes;
  out->next_sample = batch->next_sample;
  const std::uint32_t field_count = out->info.field_count;
  forebay_batch_get_info(batch, &out->info);
  const size_t bytes = batch->header.field_count * sizeof out->fields[0];
  if (out->info.field_count == field_count &&
      memcmp(out->fields, batch->header.fields, bytes) == 0)
    return;
  memcpy(out->fields, batch->header.fields, bytes);
  ++out->layout;
}

}  // namespace

const char* forebay_version(void) { return forebay::proto::kVersion; }

const char* forebay_last_error(void) {
  return client::abi::LastError().c_str();
}

forebay_status forebay_runtime_dir(char* path, size_t size) {
  return Guard(path != nullptr, [&] {
    const std::string dir = client::wire::RuntimeDirectory();
    if (dir.size() >= size)
      return Status(FOREBAY_INVALID_ARGUMENT, "the path does not fit");
    memcpy(path, dir.c_str(), dir.size() + 1);
    return Status();
  });
}

forebay_status forebay_ping(const char* runtime_dir) {
  return Guard(true, [&] {
    forebay::proto::Fd socket;
    return client::wire::ConnectToDaemon(
        runtime_dir != nullptr ? runtime_dir : "", &socket);
  });
}

// The caller's struct may be shorter or longer than the library's. Writes
// exactly `size` bytes; options that the library does not know become 0.
void forebay_loader_options_init(forebay_loader_options* options, size_t size) {
  if (options == nullptr) return;
  forebay_loader_options defaults = {};
  defaults.size = size;
  defaults.weight = 1;
  defaults.format = FOREBAY_IMAGE_FOLDER;
  defaults.order = FOREBAY_SEQUENTIAL;
  defaults.world_size = 1;
  defaults.uneven = FOREBAY_WRAP;
  defaults.batch_size = 1;
  defaults.on_error = FOREBAY_RAISE;
  defaults.sharing = FOREBAY_ELASTIC;
  defaults.reattach_seconds = client::core::DefaultReattachSeconds();
  defaults.device = -1;
  memset(options, 0, size);
  memcpy(options, &defaults, std::min(size, sizeof defaults));
}

forebay_status forebay_loader_create(const forebay_loader_options* options,
                                     const forebay_pipeline* pipeline,
                                     forebay_loader** out) {
  return Guard(options != nullptr && out != nullptr, [&] {
    const forebay_loader_options all = client::abi::Complete(*options);
    auto handle = std::make_unique<forebay_loader>();
    Status status =
        Loader::Create(all, client::abi::DatasetOf(all),
                       client::abi::SpecOf(pipeline), &handle->loader);
    if (status.ok()) *out = handle.release();
    return status;
  });
}

forebay_status forebay_loader_open(forebay_loader* loader,
                                   double timeout_seconds) {
  return Guard(loader != nullptr,
               [&] { return loader->loader->Open(Nanos(timeout_seconds)); });
}

forebay_status forebay_loader_get_info(const forebay_loader* loader,
                                       forebay_loader_info* out) {
  return Guard(loader != nullptr && out != nullptr, [&] {
    const LoaderOpened* opened = nullptr;
    FOREBAY_CLIENT_RETURN_IF_ERROR(loader->loader->GetOpened(&opened));
    *out = {};
    out->dataset_size = opened->dataset_size;
    out->samples_per_epoch = opened->samples_per_epoch;
    out->batches_per_epoch = opened->batches_per_epoch;
    out->class_count = opened->classes->names.size();
    out->slot_bytes = opened->slot_bytes;
    client::abi::CopyVersion(opened->dataset_version, out->dataset_version);
    return Status();
  });
}

forebay_status forebay_loader_class_name(const forebay_loader* loader,
                                         uint64_t label, const char** name,
                                         size_t* length) {
  return Guard(loader != nullptr && name != nullptr && length != nullptr, [&] {
    const LoaderOpened* opened = nullptr;
    FOREBAY_CLIENT_RETURN_IF_ERROR(loader->loader->GetOpened(&opened));
    if (label >= opened->classes->names.size())
      return Status(FOREBAY_INVALID_ARGUMENT, "there is no such class");
    *name = opened->classes->names[label].data();
    *length = opened->classes->names[label].size();
    return Status();
  });
}

forebay_status forebay_loader_start_epoch(forebay_loader* loader,
                                          uint64_t epoch,
                                          uint64_t first_sample) {
  return Guard(loader != nullptr,
               [&] { return loader->loader->StartEpoch(epoch, first_sample); });
}

forebay_status forebay_loader_start_listed_epoch(forebay_loader* loader,
                                                 uint64_t epoch,
                                                 const int64_t* samples,
                                                 size_t count,
                                                 uint64_t first_sample) {
  return Guard(loader != nullptr && (samples != nullptr || count == 0), [&] {
    return loader->loader->StartListedEpoch(epoch, samples, count,
                                            first_sample);
  });
}

uint64_t forebay_loader_iteration(const forebay_loader* loader) {
  return loader == nullptr ? 0 : loader->loader->iteration();
}

forebay_status forebay_loader_next(forebay_loader* loader,
                                   double timeout_seconds,
                                   forebay_batch** out) {
  return Guard(loader != nullptr && out != nullptr, [&] {
    return loader->loader->Next(Nanos(timeout_seconds), 0, out);
  });
}

forebay_status forebay_loader_next_view(forebay_loader* loader,
                                        double timeout_seconds,
                                        forebay_batch_view* out) {
  return Guard(loader != nullptr && out != nullptr, [&] {
    forebay_batch* batch = nullptr;
    Status status =
        loader->loader->Next(Nanos(timeout_seconds), out->iteration, &batch);
    if (status.ok()) View(batch, out);
    return status;
  });
}

forebay_status forebay_loader_reattach(forebay_loader* loader,
                                       double timeout_seconds) {
  return Guard(loader != nullptr, [&] {
    return loader->loader->Reattach(Nanos(timeout_seconds));
  });
}

int forebay_loader_is_attached(forebay_loader* loader) {
  return loader != nullptr && loader->loader->IsAttached();
}

forebay_status forebay_loader_stop_epoch(forebay_loader* loader) {
  return Guard(loader != nullptr, [&] { return loader->loader->StopEpoch(); });
}

forebay_status forebay_loader_get_stats(forebay_loader* loader,
                                        forebay_loader_stats* out) {
  return Guard(loader != nullptr && out != nullptr, [&] {
    LoaderCounters counters;
    FOREBAY_CLIENT_RETURN_IF_ERROR(loader->loader->GetCounters(&counters));
    *out = {.samples_delivered = counters.samples_delivered,
            .batches_delivered = counters.batches_delivered,
            .bytes_delivered = counters.bytes_delivered,
            .bytes_read = counters.bytes_read,
            .samples_decoded = counters.samples_decoded,
            .samples_substituted = counters.samples_substituted,
            .cpu_nanos = counters.cpu_nanos,
            .wait_nanos = counters.trainer_wait_nanos,
            .batches_copied = counters.batches_copied,
            .batches_held = counters.batches_held};
    return Status();
  });
}

forebay_status forebay_loader_stats_message(forebay_loader* loader, void* bytes,
                                            size_t* size) {
  return Guard(
      loader != nullptr && size != nullptr && (bytes != nullptr || *size == 0),
      [&] {
        LoaderCounters counters;
        FOREBAY_CLIENT_RETURN_IF_ERROR(loader->loader->GetCounters(&counters));
        const std::string message = forebay::message::Serialize(counters);
        const size_t room = *size;
        *size = message.size();
        if (message.size() > room)
          return Status(FOREBAY_INVALID_ARGUMENT, "the counters do not fit");
        if (!message.empty()) memcpy(bytes, message.data(), message.size());
        return Status();
      });
}

const char* forebay_loader_refusal(const forebay_loader* loader) {
  return loader == nullptr ? "" : loader->loader->refusal();
}

void forebay_loader_close(forebay_loader* loader) {
  Guard(true, [&] {
    if (loader != nullptr) loader->loader->Close();
    return Status();
  });
}

void forebay_loader_free(forebay_loader* loader) {
  Guard(true, [&] {
    delete loader;
    return Status();
  });
}

void forebay_batch_get_info(const forebay_batch* batch,
                            forebay_batch_info* out) {
  if (out == nullptr) return;
  *out = {};
  if (batch == nullptr) return;
  out->sample_count = batch->header.sample_count;
  out->epoch = batch->header.epoch;
  out->first_sample = batch->header.first_sample;
  out->field_count = batch->header.field_count;
  out->is_copy = batch->mapping == nullptr;
}

forebay_status forebay_batch_field(const forebay_batch* batch, uint32_t index,
                                   forebay_field* out) {
  return Guard(batch != nullptr && out != nullptr, [&] {
    if (index >= batch->header.field_count)
      return Status(FOREBAY_INVALID_ARGUMENT, "the batch has no such field");
    const forebay::proto::FieldLayout& field = batch->header.fields[index];
    *out = {};
    out->name = field.name;
    out->kind = static_cast<forebay_field_kind>(field.kind);
    out->dtype = static_cast<forebay_dtype>(field.dtype);
    out->rank = field.rank;
    std::copy_n(field.shape, field.rank, out->shape);
    if (field.place == forebay::proto::Place::kHost)
      out->data = batch->data + field.offset;
    out->bytes = field.bytes;
    if (field.row_splits_offset != 0)
      out->row_splits = reinterpret_cast<const int64_t*>(
          batch->data + field.row_splits_offset);
    return Status();
  });
}

forebay_place forebay_batch_place(const forebay_batch* batch, uint32_t index) {
  return batch == nullptr || index >= batch->header.field_count
             ? FOREBAY_HOST
             : static_cast<forebay_place>(batch->header.fields[index].place);
}

forebay_status forebay_batch_put(forebay_batch* batch, uint32_t index, void* to,
                                 void* stream) {
  return Guard(batch != nullptr, [&] {
    return client::core::Subscription::Put(*batch, index, to, stream);
  });
}

forebay_status forebay_batch_put_part(forebay_batch* batch, uint32_t index,
                                      uint64_t offset, uint64_t bytes, void* to,
                                      void* stream) {
  return Guard(batch != nullptr, [&] {
    return client::core::Subscription::PutPart(*batch, index, offset, bytes, to,
                                               stream);
  });
}

void forebay_batch_retain(forebay_batch* batch) {
  if (batch == nullptr) return;
  batch->references.fetch_add(1, std::memory_order_relaxed);
}

// The memory order is acquire and release, so that reads by other owners happen
// before the batch's memory goes back to the daemon.
void forebay_batch_release(forebay_batch* batch) {
  if (batch != nullptr &&
      batch->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    client::core::Subscription::Release(batch);
}
