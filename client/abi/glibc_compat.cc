// A copy of the function _dl_find_object, which exists in glibc since version
// 2.35. Debian's static libgcc calls it to find unwind tables. Without this
// copy, the library would not load where glibc is older. The copy is hidden in
// the library, so other libraries do not see it.
//
// The copy finds the tables by dl_iterate_phdr, as older versions of libgcc do.
// This is slower, which matters only when exceptions are thrown.

#include <elf.h>
#include <link.h>

#include <cstdint>

namespace {

// glibc's struct dl_find_object (dlfcn.h), on machines where
// DLFO_STRUCT_HAS_EH_DBASE and DLFO_STRUCT_HAS_EH_COUNT are 0.
struct DlFindObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  struct link_map* map;
  void* eh_frame;
  unsigned long long reserved[7];
};

struct Search {
  std::uintptr_t address;
  DlFindObject* object_info;
};

// A callback of dl_iterate_phdr: checks whether a loaded object has the
// address. Returns 1, which ends the iteration, if the object has the address
// and unwind tables.
int Look(struct dl_phdr_info* object, size_t, void* context) {
  Search& search = *static_cast<Search*>(context);
  const ElfW(Phdr)* tables = nullptr;
  bool inside = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const std::uintptr_t start = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) tables = &segment;
    if (segment.p_type == PT_LOAD && search.address >= start &&
        search.address - start < segment.p_memsz) {
      inside = true;
      search.object_info->map_start = reinterpret_cast<void*>(start);
      search.object_info->map_end =
          reinterpret_cast<void*>(start + segment.p_memsz);
    }
  }
  if (!inside || tables == nullptr) return 0;
  search.object_info->flags = 0;
  search.object_info->map = nullptr;
  search.object_info->eh_frame =
      reinterpret_cast<void*>(object->dlpi_addr + tables->p_vaddr);
  return 1;
}

}  // namespace

// Our _dl_find_object, with glibc's contract: fills in *object_info and returns
// 0, or returns -1 if no object has the address.
extern "C" int ForebayFindObject(void* address, DlFindObject* object_info) asm(
    "_dl_find_object");

extern "C" int ForebayFindObject(void* address, DlFindObject* object_info) {
  Search search = {reinterpret_cast<std::uintptr_t>(address), object_info};
  return dl_iterate_phdr(Look, &search) == 1 ? 0 : -1;
}
