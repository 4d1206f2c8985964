#include "tests/fuzz/small_datasets.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "proto/raw_image.h"
#include "tests/fuzz/require.h"

namespace forebay::fuzz {
namespace {

constexpr int kImages = 3;  // images of each class

std::string& Folder() {
  static auto* const folder = new std::string;
  return *folder;
}

void Remove() {
  std::error_code ignored;
  std::filesystem::remove_all(Folder(), ignored);
}

std::string Image(std::uint32_t width, std::uint32_t height) {
  const proto::RawImageHeader header = {proto::kRawImageMagic, width, height,
                                        3};
  std::string image(reinterpret_cast<const char*>(&header), sizeof(header));
  for (std::uint32_t i = 0; i < 3 * width * height; ++i) {
    image += static_cast<char>(i * 31);
  }
  return image;
}

void Write(const std::string& name, const std::string& content) {
  std::ofstream file(absl::StrCat(Folder(), "/", name), std::ios::binary);
  file << content;
  Require(file.good());
}

// Returns a member of a tar archive: its header, and the padded content.
std::string Member(const std::string& name, const std::string& content) {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 7, "0000644");
  char digits[12];
  std::snprintf(digits, sizeof(digits), "%011zo", content.size());
  header.replace(124, 11, digits);
  header[156] = '0';
  header.replace(257, 5, "ustar");
  header.replace(263, 2, "00");
  header.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  std::snprintf(digits, sizeof(digits), "%06o", sum);
  header.replace(148, 6, digits);
  header[154] = '\0';
  std::string member = header + content;
  member.resize((member.size() + 511) / 512 * 512);
  return member;
}

// Returns a .npy file of five rows of two bytes.
std::string Rows() {
  const std::string text =
      "{'descr': '|u1', 'fortran_order': False, 'shape': (5, 2), }\n";
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(text.size()) +
         '\0' + text + "0123456789";
}

}  // namespace

std::string MakeSmallDatasets() {
  char folder[] = "/tmp/forebay-fuzz.XXXXXX";
  Require(mkdtemp(folder) != nullptr);
  Folder() = folder;
  std::atexit(Remove);
  std::string csv = "image,class,text\n";
  std::string rows;
  std::string shard;
  for (const std::string name : {"cat", "dog"}) {
    std::filesystem::create_directory(absl::StrCat(Folder(), "/", name));
    for (int i = 0; i < kImages; ++i) {
      const std::string path = absl::StrCat(name, "/", i, ".jpg");
      const std::string image = Image(8 + static_cast<std::uint32_t>(i), 6);
      Write(path, image);
      absl::StrAppend(&csv, path, ",", name, ",text ", i, "\n");
      absl::StrAppend(&rows, R"({"image": ")", path, R"(", "class": ")", name,
                      R"(", "text": "text )", i, "\"}\n");
      absl::StrAppend(&shard, Member(absl::StrCat(name, i, ".jpg"), image),
                      Member(absl::StrCat(name, i, ".cls"), absl::StrCat(i)),
                      Member(absl::StrCat(name, i, ".txt"), "a picture"));
    }
  }
  Write("t.csv", csv);
  Write("t.jsonl", rows);
  Write("a.tar", shard + std::string(1024, '\0'));
  Write("a.npy", Rows());
  return Folder();
}

}  // namespace forebay::fuzz
