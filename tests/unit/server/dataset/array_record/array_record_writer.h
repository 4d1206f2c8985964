#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_ARRAY_RECORD_ARRAY_RECORD_WRITER_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_ARRAY_RECORD_ARRAY_RECORD_WRITER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::dataset::array_record {

std::string Varint(std::uint64_t number);
// Both functions return a field of a protocol buffer in wire format.
std::string Number(std::uint32_t tag, std::uint64_t number);
std::string Text(std::uint32_t tag, std::string_view text);

// A chunk to be written, with correct hashes.
struct RawChunk {
  char type = 'r';
  std::uint64_t records = 0;
  std::uint64_t decoded_bytes = 0;
  std::string data;
  // If set, replaces the number of data bytes in the header.
  std::optional<std::uint64_t> data_bytes = std::nullopt;
};

// Returns an uncompressed simple chunk.
RawChunk ChunkOf(const std::vector<std::string>& records);
// Returns a simple chunk with these bytes as the lengths before its records.
RawChunk ChunkOf(const std::string& lengths, const std::string& records,
                 std::uint64_t count);

// Writes ArrayRecord files, including files that no real writer would make.
class FileWriter {
 public:
  struct Listed {
    std::uint64_t offset = 0;
    std::uint64_t decoded_bytes = 0;
    std::uint64_t records = 0;
  };

  // Begins the file with its signature.
  FileWriter();

  // Appends a chunk. Returns the offset where it begins.
  std::uint64_t Add(const RawChunk& chunk);
  // Appends a chunk, and adds it to the list of chunks.
  void AddListed(const RawChunk& chunk);
  void List(const Listed& listed) { listed_.push_back(listed); }
  // Ends the file with a footer and a postscript.
  std::string End();
  // Ends the file with these records in the footer, and with the postscript.
  std::string EndWith(const std::vector<std::string>& footer,
                      const std::optional<std::string>& postscript = {});
  // Returns the footer's records as real writers make them.
  std::vector<std::string> Footer() const;

 private:
  void Append(std::string_view bytes);
  void PadTo(std::uint64_t size) { bytes_.resize(size, '\0'); }
  void PadToBlock();

  std::string bytes_;
  std::vector<Listed> listed_;
};

// Returns an ArrayRecord file of these chunks.
std::string FileOf(const std::vector<RawChunk>& chunks);

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_ARRAY_RECORD_ARRAY_RECORD_WRITER_H_
