#ifndef FOREBAY_SERVER_DATASET_HDF5_GLOBAL_HEAP_H_
#define FOREBAY_SERVER_DATASET_HDF5_GLOBAL_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/dataset/hdf5/file_view.h"

namespace forebay::dataset::hdf5 {

// Where a value of any length lies.
struct ValuePlace {
  std::uint64_t offset = 0;  // bytes
  std::uint64_t length = 0;  // bytes
};

// Finds values of any length, to which the rows of a dataset refer, in the
// global heaps of a file. It goes through heaps in their order in the file,
// once each. Used by one thread; counts what it finds in the file's memory;
// never blocks. Errors: those of FileView; DATA_LOSS: a heap is damaged, or has
// no such value; UNIMPLEMENTED: a value that is to be kept is longer than that.
class GlobalHeapWalk {
 public:
  // `references` has one for each row, and each value so many bytes for every
  // element. Keeps a copy of the values if `most_kept` is not 0: bytes of one.
  GlobalHeapWalk(std::string references, std::uint64_t element_bytes,
                 std::uint64_t most_kept);

  // To be called first.
  absl::Status Begin(FileView& file);
  bool done() const { return next_ == order_.size(); }
  // Finds some values. Can be called again after UNAVAILABLE. Not to be called
  // if done.
  absl::Status Step(FileView& file);

  // By row: where its value lies in the file or, if values are kept, in kept().
  const std::vector<ValuePlace>& places() const { return places_; }
  const std::string& kept() const { return kept_; }
  // Bytes that it counts, with those of the references.
  std::uint64_t memory() const;

 private:
  struct Reference {
    std::uint64_t address = kNoAddress;  // of the heap
    std::uint64_t number = 0;            // of the value in it
    std::uint64_t row = 0;
  };
  // The heap that it goes through.
  struct Heap {
    std::uint64_t address = kNoAddress;
    std::uint64_t end = 0;  // address
    // Of the values found, by number; a number is 16 bits wide.
    std::vector<ValuePlace> values;
    std::uint64_t next = 0;  // address of the value that follows these
  };

  absl::Status Open(FileView& file, std::uint64_t address);
  absl::Status FindNext(FileView& file);
  absl::Status Keep(FileView& file, const Reference& reference);

  const std::string references_;
  const std::uint64_t element_bytes_;
  const std::uint64_t most_kept_;
  std::vector<Reference> order_;  // those of values that are not empty
  std::size_t next_ = 0;          // in that order
  Heap heap_;
  std::vector<ValuePlace> places_;
  std::string kept_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_GLOBAL_HEAP_H_
