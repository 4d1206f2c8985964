// forebayctl peek: writes a picture of the batch that a job got last.

#include <cstdint>
#include <iostream>
#include <string>

#include "proto/cli.pb.h"
#include "tools/forebayctl/contact_sheet.h"
#include "tools/forebayctl/json.h"
#include "tools/forebayctl/text_table.h"
#include "tools/forebayctl/verb.h"

namespace forebay::ctl {
namespace {

// Returns a class name for JSON, with '?' for each byte beyond ASCII. Class
// names can have any bytes, but JSON is UTF-8.
std::string Ascii(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return Printable(std::move(text));
}

// Prints a message PeekedPicture of cli.proto.
void PrintJson(const ContactSheet& sheet, const std::string& path) {
  proto::PeekedPicture answer;
  answer.set_file(path);
  answer.set_width(sheet.picture.width);
  answer.set_height(sheet.picture.height);
  answer.set_columns(static_cast<std::uint32_t>(sheet.columns));
  for (const std::string& label : sheet.labels) answer.add_labels(Ascii(label));
  std::cout << ToJson(answer);
}

// Prints the picture's size, and the labels in the grid's rows.
void Print(const ContactSheet& sheet, const std::string& path) {
  std::cout << path << ": " << sheet.picture.width << " x "
            << sheet.picture.height << " pixels\n";
  for (std::size_t i = 0; i < sheet.labels.size(); ++i) {
    const bool last =
        (i + 1) % sheet.columns == 0 || i + 1 == sheet.labels.size();
    std::cout << Printable(sheet.labels[i]) << (last ? "\n" : ", ");
  }
}

}  // namespace

int RunPeek(const Options& options) {
  const auto client = AdminClient::Connect(options.runtime_dir);
  if (!client.ok()) return Complain(client.status());
  const auto batch = (*client)->Peek(options.job, options.loader);
  if (!batch.ok()) return Complain(batch.status());
  const auto sheet = DrawContactSheet(*batch, options.count);
  if (!sheet.ok()) return Complain(sheet.status());
  const absl::Status written = WritePng(sheet->picture, options.output);
  if (!written.ok()) return Complain(written);
  if (options.json) {
    PrintJson(*sheet, options.output);
  } else {
    Print(*sheet, options.output);
  }
  return kOk;
}

}  // namespace forebay::ctl
