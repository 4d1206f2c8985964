#ifndef FOREBAY_SERVER_DATASET_LMDB_FORMAT_CHOICE_H_
#define FOREBAY_SERVER_DATASET_LMDB_FORMAT_CHOICE_H_

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/lmdb/entry_fields.h"
#include "server/dataset/records/record_catalog.h"

namespace forebay::dataset::lmdb {

// The fields that are wanted of LMDB files, or that they are to be guessed.
// Immutable and thread-safe.
class FormatChoice {
 public:
  // Without names and types, fields are guessed of the first values. A single
  // field without a name is the value, as "value"; its type may be "datum" or
  // "lsun". Names of "key" and "value" alone are those of an entry; others are
  // features of tf.train.Examples. `database` names one in the files; if it is
  // empty, the unnamed one is meant. Never blocks. The error gives the reason
  // alone: INVALID_ARGUMENT: there are no such fields, or no such name.
  static absl::StatusOr<FormatChoice> Create(
      const std::vector<std::string>& names,
      const std::vector<std::string>& types, std::string database);

  // Completes a request for LMDB files with its source, root and name. A guess
  // adds to `warnings`, a sentence each, what it leaves out. The request uses
  // both as long as it lives.
  void Complete(records::RecordRequest* request,
                std::vector<std::string>* warnings) const;

 private:
  // Only the first values tell it.
  enum class Unknown { kAll, kDatum };
  using Value = std::variant<EntryFields::Value, Unknown>;

  FormatChoice(std::string database, std::optional<KeyField> key, Value value)
      : database_(std::move(database)),
        key_(std::move(key)),
        value_(std::move(value)) {}

  static absl::StatusOr<Value> ValueOf(const std::string& type);
  static absl::StatusOr<FormatChoice> OfEntries(
      const std::vector<std::string>& names,
      const std::vector<std::string>& types, std::string database);

  std::string text() const;
  absl::StatusOr<records::RecordRequest::FormatPtr> FindFormat(
      const records::RecordRequest& request,
      const records::RecordRequest::Files& files, base::WorkingMemory& memory,
      const std::stop_token& stop, std::vector<std::string>* warnings) const;
  absl::StatusOr<EntryFields::Value> FindValue(
      const records::RecordRequest& request,
      const records::RecordRequest::Files& files, base::WorkingMemory& memory,
      const std::stop_token& stop, std::vector<std::string>* warnings) const;

  std::string database_;
  std::optional<KeyField> key_;
  Value value_;
};

}  // namespace forebay::dataset::lmdb

#endif  // FOREBAY_SERVER_DATASET_LMDB_FORMAT_CHOICE_H_
