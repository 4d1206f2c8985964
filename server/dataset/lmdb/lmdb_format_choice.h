#ifndef FOREBAY_SERVER_DATASET_LMDB_LMDB_FORMAT_CHOICE_H_
#define FOREBAY_SERVER_DATASET_LMDB_LMDB_FORMAT_CHOICE_H_

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

// The fields that a user wants from LMDB files, or the choice to guess the
// fields. Immutable and thread-safe; owns what it stores. Its own calls never
// block, but opening a completed request reads values if fields are to be
// guessed. Only Create has errors; the errors of a guess are errors of the
// request.
class LmdbFormatChoice {
 public:
  // Makes a choice from the names and types of the fields that a user asks for:
  //
  // none            the fields are guessed from the first values
  // one, nameless   the value, as the field "value"; "datum" and "lsun" are
  //                 further types that it may have
  // key and value   "key", "value" or both: the parts of an entry
  // other names     features of tf.train.Examples
  //
  // `database` names a database in the files; an empty name means the unnamed
  // one. INVALID_ARGUMENT, giving the reason alone: no entry can have such
  // fields, or no database can have such a name.
  static absl::StatusOr<LmdbFormatChoice> Create(
      const std::vector<std::string>& names,
      const std::vector<std::string>& types, std::string database);

  // Completes `request`, which asks for LMDB files and already has its source,
  // root and name. A guess adds one sentence to `warnings` for each feature
  // that it leaves out. Both pointers must stay valid until the request has
  // been opened.
  void Complete(records::RecordRequest* request,
                std::vector<std::string>* warnings) const;

 private:
  // The part of the value's type that only the first values tell: the whole
  // type (kAll), or which image or array a Datum holds (kDatum).
  enum class Unknown { kAll, kDatum };
  using Value = std::variant<EntryFields::Value, Unknown>;

  LmdbFormatChoice(std::string database, std::optional<KeyField> key,
                   Value value)
      : database_(std::move(database)),
        key_(std::move(key)),
        value_(std::move(value)) {}

  // Returns the meaning of a type that the user gave to the field "value".
  static absl::StatusOr<Value> ValueOf(const std::string& type);
  // Makes a choice whose only names are "key" and "value", each at most once.
  static absl::StatusOr<LmdbFormatChoice> OfEntries(
      const std::vector<std::string>& names,
      const std::vector<std::string>& types, std::string database);

  std::string text() const;
  // Finds the format for a request. RecordRequest::find_format makes this call.
  absl::StatusOr<records::RecordRequest::FormatPtr> FindFormat(
      const records::RecordRequest& request,
      const records::RecordRequest::Files& files, base::WorkingMemory& memory,
      const std::stop_token& stop, std::vector<std::string>* warnings) const;
  // Returns the value's fields, from the user's types or from the first values.
  absl::StatusOr<EntryFields::Value> FindValue(
      const records::RecordRequest& request,
      const records::RecordRequest::Files& files, base::WorkingMemory& memory,
      const std::stop_token& stop, std::vector<std::string>* warnings) const;

  std::string database_;         // empty: the unnamed database
  std::optional<KeyField> key_;  // nothing: samples have no field of the key
  Value value_;
};

}  // namespace forebay::dataset::lmdb

#endif  // FOREBAY_SERVER_DATASET_LMDB_LMDB_FORMAT_CHOICE_H_
