#ifndef FOREBAY_SERVER_DATASET_HDF5_GLOBAL_HEAP_H_
#define FOREBAY_SERVER_DATASET_HDF5_GLOBAL_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/dataset/hdf5/file_view.h"

namespace forebay::dataset::hdf5 {

// The place of a value of any length. Offset and length are in bytes.
struct ValuePlace {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// Finds the values of variable length that a dataset's rows refer to, in the
// file's global heaps (HDF5 File Format Specification v3.0 III.E). The
// references are sorted first, so that each heap is read once, in the order of
// the file.
//
// Used by one thread. Owns the references, the values that it finds, and the
// places of one heap's objects, and counts all of them in FileView::memory().
// Never blocks. Errors: those of FileView; DATA_LOSS: a heap is damaged or has
// no such value; UNIMPLEMENTED: a value that is to be copied is longer than
// `longest_copy`.
class GlobalHeapWalk {
 public:
  // Takes the references, one for each row. A value has `element_bytes` bytes
  // for each of its elements. If `longest_copy` is not 0, values are copied,
  // and no value may be longer than `longest_copy` bytes.
  GlobalHeapWalk(std::string references, std::uint64_t element_bytes,
                 std::uint64_t longest_copy);

  // Sorts the references. Must be called first.
  absl::Status Begin(FileView& file);
  // Whether all values were found.
  bool done() const { return next_ == order_.size(); }
  // Finds some of the values. UNAVAILABLE: bytes are missing; the call can be
  // repeated once `file` has the bytes. Must not be called once done() is true.
  absl::Status Step(FileView& file);

  // Returns the place of each row's value: in the file or, if values are
  // copied, in copies(). Complete once done() is true.
  const std::vector<ValuePlace>& places() const { return places_; }
  // Returns the copied values, one after the other.
  const std::string& copies() const { return copies_; }
  // Returns the bytes that FileView::memory() counts for this walk, including
  // the references. The caller must give these bytes back.
  std::uint64_t memory() const;

 private:
  // A row's reference: the Global Heap ID of its value.
  struct Reference {
    std::uint64_t address = kNoAddress;  // address of the heap
    std::uint64_t number = 0;            // object index within the heap
    std::uint64_t row = 0;
  };
  // The heap (a "collection" in the specification) that is being read. All
  // members but `values` are addresses.
  struct Heap {
    std::uint64_t address = kNoAddress;
    // Address of the first byte after the heap.
    std::uint64_t end = 0;
    // Places of the objects that were read, by object index, which has 16 bits.
    std::vector<ValuePlace> values;
    // Address of the object that is read next.
    std::uint64_t next = 0;
  };

  // Begins to read the heap at `address`, which must lie after the previous
  // heap.
  absl::Status Open(FileView& file, std::uint64_t address);
  // Reads the header of the next object in the heap.
  absl::Status FindNext(FileView& file);
  // Copies a value into `copies_`.
  absl::Status Keep(FileView& file, const Reference& reference);

  const std::string references_;
  const std::uint64_t element_bytes_;
  const std::uint64_t longest_copy_;
  // References to values that are not empty, sorted by heap and object index.
  std::vector<Reference> order_;
  // Index into `order_` of the value that is looked for next.
  std::size_t next_ = 0;
  Heap heap_;
  std::vector<ValuePlace> places_;
  std::string copies_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_GLOBAL_HEAP_H_
