#ifndef FOREBAY_CLIENT_CPP_FOREBAY_HPP_
#define FOREBAY_CLIENT_CPP_FOREBAY_HPP_

// A C++17 interface on top of client/forebay.h: handles that free themselves,
// and errors as exceptions. Header-only; link libforebay.so.

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "client/forebay.h"

namespace forebay {

// The exception of a call that failed; what() is one sentence that says why.
class Error : public std::runtime_error {
 public:
  Error(forebay_status status, const char* message)
      : std::runtime_error(message), status_(status) {}
  forebay_status status() const { return status_; }

 private:
  forebay_status status_;
};

// Throws Error unless the status of this thread's last call is FOREBAY_OK.
inline void Check(forebay_status status) {
  if (status != FOREBAY_OK) throw Error(status, forebay_last_error());
}

// A pipeline of transforms. Callers add transforms by
// forebay_pipeline_add_*(pipeline.get(), ...). Movable; one thread at a time.
// Owns its handle. Never blocks.
class Pipeline {
 public:
  Pipeline() : handle_(forebay_pipeline_new(), forebay_pipeline_free) {
    if (handle_ == nullptr) throw std::bad_alloc();
  }
  forebay_pipeline* get() const { return handle_.get(); }

 private:
  std::unique_ptr<forebay_pipeline, decltype(&forebay_pipeline_free)> handle_;
};

// A lease on a batch. Any thread may use and drop copies. Copies share the
// lease: the memory is valid as long as one of them lives. Never blocks. A
// batch whose content was moved away has no samples and no fields.
class Batch {
 public:
  // Takes ownership of a handle that forebay_loader_next returned.
  explicit Batch(forebay_batch* handle)
      : handle_(handle, forebay_batch_release) {}

  // Returns the handle, for C functions; the batch still owns it.
  forebay_batch* get() const { return handle_.get(); }
  forebay_batch_info info() const {
    forebay_batch_info info;
    forebay_batch_get_info(handle_.get(), &info);
    return info;
  }
  std::uint64_t size() const { return info().sample_count; }

  // Returns a view of field number `index`, which lives as long as the batch.
  // Throws Error if the batch does not have the field.
  forebay_field field(std::uint32_t index) const {
    forebay_field field;
    Check(forebay_batch_field(handle_.get(), index, &field));
    return field;
  }
  forebay_place place(std::uint32_t index) const {
    return forebay_batch_place(handle_.get(), index);
  }
  // Copies a field that lies on the GPU: see forebay_batch_put.
  void Put(std::uint32_t index, void* to, void* stream) {
    Check(forebay_batch_put(handle_.get(), index, to, stream));
  }
  // Returns a view of the field of that name, which lives as long as the batch.
  // Throws Error if the batch does not have the field.
  forebay_field field(std::string_view name) const {
    const std::uint32_t count = info().field_count;
    for (std::uint32_t i = 0; i < count; ++i) {
      const forebay_field candidate = field(i);
      if (candidate.name == name) return candidate;
    }
    throw Error(FOREBAY_NOT_FOUND, Lacking(name).c_str());
  }

 private:
  // Returns an error message: the batch has no field `name`. The message lists
  // the fields that the batch has.
  std::string Lacking(std::string_view name) const {
    std::string message = "the batch has no field \"" + std::string(name) + '"';
    const std::uint32_t count = info().field_count;
    for (std::uint32_t i = 0; i < count; ++i)
      message += (i == 0 ? ", but has " : ", ") + std::string(field(i).name);
    return message;
  }

  std::shared_ptr<forebay_batch> handle_;
};

// Returns the bytes of sample number `sample` in `field`, which has texts, JSON
// or bytes. The bytes live as long as the batch.
inline std::string_view BytesOf(const forebay_field& field,
                                std::uint64_t sample) {
  const std::int64_t begin = field.row_splits[sample];
  return {static_cast<const char*>(field.data) + begin,
          static_cast<std::size_t>(field.row_splits[sample + 1] - begin)};
}

// Returns options with their defaults; see forebay_loader_options.
inline forebay_loader_options DefaultOptions() {
  forebay_loader_options options;
  forebay_loader_options_init(&options, sizeof options);
  return options;
}

// A loader. The rules of forebay.h for threads and blocking apply to it.
// Movable. Owns its handle; batches outlive it. Every call may throw Error.
class Loader {
 public:
  // Blocks until the daemon has indexed the dataset.
  Loader(const forebay_loader_options& options, const Pipeline& pipeline)
      : handle_(Create(options, pipeline), forebay_loader_free) {
    forebay_status status;
    do {
      status = forebay_loader_open(handle_.get(), -1);
    } while (status == FOREBAY_INTERRUPTED);
    Check(status);
  }

  // Returns the handle, for C functions; the loader still owns it.
  forebay_loader* get() const { return handle_.get(); }
  forebay_loader_info info() const {
    forebay_loader_info info;
    Check(forebay_loader_get_info(handle_.get(), &info));
    return info;
  }
  std::string class_name(std::uint64_t label) const {
    const char* name;
    size_t length;
    Check(forebay_loader_class_name(handle_.get(), label, &name, &length));
    return std::string(name, length);
  }
  void StartEpoch(std::uint64_t epoch, std::uint64_t first_sample = 0) {
    Check(forebay_loader_start_epoch(handle_.get(), epoch, first_sample));
  }
  // Waits for the next batch, and goes on waiting after a signal. Returns
  // nullopt at the end of the epoch.
  std::optional<Batch> Next() {
    forebay_batch* batch = nullptr;
    forebay_status status;
    do {
      status = forebay_loader_next(handle_.get(), -1, &batch);
    } while (status == FOREBAY_INTERRUPTED);
    if (status == FOREBAY_END_OF_EPOCH) return std::nullopt;
    Check(status);
    return Batch(batch);
  }
  // Returns why the batches lie on the host although the options ask for a GPU;
  // "" if the batches lie where the options say.
  std::string refusal() const { return forebay_loader_refusal(handle_.get()); }
  void StopEpoch() { Check(forebay_loader_stop_epoch(handle_.get())); }
  forebay_loader_stats stats() {
    forebay_loader_stats stats;
    Check(forebay_loader_get_stats(handle_.get(), &stats));
    return stats;
  }
  void Close() { forebay_loader_close(handle_.get()); }

 private:
  static forebay_loader* Create(const forebay_loader_options& options,
                                const Pipeline& pipeline) {
    forebay_loader* loader = nullptr;
    Check(forebay_loader_create(&options, pipeline.get(), &loader));
    return loader;
  }

  std::unique_ptr<forebay_loader, decltype(&forebay_loader_free)> handle_;
};

}  // namespace forebay

#endif  // FOREBAY_CLIENT_CPP_FOREBAY_HPP_
