#include "client/wire/class_list_codec.h"

#include <protozero/exception.hpp>

#include "client/wire/wire_types.h"

namespace forebay::client::wire {

std::vector<std::string> ReadClassList(protozero::pbf_reader reader) {
  std::vector<std::string> classes;
  while (reader.next()) {
    if (IsBytes(reader, 1))
      classes.push_back(reader.get_string());
    else
      reader.skip();
  }
  return classes;
}

Status DecodeClassList(std::string_view bytes,
                       std::vector<std::string>* classes) {
  try {
    *classes = ReadClassList(protozero::pbf_reader(bytes.data(), bytes.size()));
  } catch (const protozero::exception&) {
    return Status(FOREBAY_INTERNAL, "the daemon sent a malformed class list");
  }
  return Status();
}

}  // namespace forebay::client::wire
