#include "ctoml.h"

#include <new>
#include <string>
#include <string_view>
#include <vector>

#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 32
// toml++ 3.3 asserts what a malformed document breaks (a line "[" is enough), and reports the error
// behind the assertion. So its assertions mustn't end the process, nor, as with NDEBUG, let the
// compiler assume them.
#undef NDEBUG
#define TOML_ASSERT(condition) static_assert(true)
#include <toml++/toml.h>

static_assert(TOML_MAX_NESTED_VALUES == CTOML_MAX_DEPTH);

namespace {

constexpr const char *too_deep = "nested too deeply: at most 32 levels";

struct refusal {
  const char *reason;
  ctoml_place place;
};

// Refuses dotted keys of more than CTOML_MAX_DEPTH parts. toml++ 3.3 limits the nesting of values,
// but a key such as a.a.a.a… makes a table a part, and a tree of many thousand levels overflows
// the stack when it is freed. Outside of strings and comments a number or date has one dot at most,
// so any longer chain of dots is a key. Where the document is malformed this scan may read on
// differently from toml++, but toml++ stops there.
void check_keys(std::string_view text) {
  ctoml_place place{1, 1};
  size_t index = 0;
  int dots = 0;
  auto advance = [&](size_t count) {
    for (; count > 0 && index < text.size(); count--, index++) {
      const auto byte = static_cast<unsigned char>(text[index]);
      if (byte == '\n') {
        place = {place.line + 1, 1};
      } else if ((byte & 0xC0) != 0x80) {
        place.column++;
      }
    }
  };
  auto skip_string = [&](char quote) {
    const std::string_view triple = quote == '"' ? "\"\"\"" : "'''";
    const bool multiline = text.substr(index, 3) == triple;
    advance(multiline ? 3 : 1);
    while (index < text.size()) {
      if (quote == '"' && text[index] == '\\') {
        advance(2);
      } else if (multiline && text.substr(index, 3) == triple) {
        advance(3);
        for (int extra = 0; extra < 2 && index < text.size() && text[index] == quote; extra++) {
          advance(1);  // up to two quotes just before the end belong to the string
        }
        return;
      } else if (!multiline && (text[index] == quote || text[index] == '\n')) {
        advance(1);
        return;
      } else {
        advance(1);
      }
    }
  };
  while (index < text.size()) {
    switch (text[index]) {
      case '"':
      case '\'':
        skip_string(text[index]);
        continue;
      case '#':
        while (index < text.size() && text[index] != '\n') advance(1);
        continue;
      case '.':
        if (++dots == CTOML_MAX_DEPTH) throw refusal{too_deep, place};
        break;
      case '\n':
      case '=':
      case ',':
      case '[':
      case ']':
      case '{':
      case '}':
        dots = 0;
        break;
      default:
        break;
    }
    advance(1);
  }
}

ctoml_place place(const toml::source_region &region) {
  return {region.begin.line, region.begin.column};
}

struct owned_document : ctoml_document {
  toml::table tree;
  std::vector<ctoml_node> list;
  std::string message;

  owned_document() : ctoml_document{} {}

  void append(const toml::node &value, const toml::key *key, int depth) {
    ctoml_node node{};
    node.place = place(value.source());
    if (depth > CTOML_MAX_DEPTH) throw refusal{too_deep, node.place};
    if (key != nullptr) {
      node.key = key->str().data();
      node.key_size = key->str().size();
      node.key_place = place(key->source());
    }
    switch (value.type()) {
      case toml::node_type::string: {
        const std::string &text = value.ref<std::string>();
        node.kind = CTOML_STRING;
        node.text = text.data();
        node.text_size = text.size();
        break;
      }
      case toml::node_type::integer:
        node.kind = CTOML_INTEGER;
        node.integer = value.ref<int64_t>();
        break;
      case toml::node_type::floating_point:
        node.kind = CTOML_FLOAT;
        node.real = value.ref<double>();
        break;
      case toml::node_type::boolean:
        node.kind = CTOML_BOOLEAN;
        node.integer = value.ref<bool>();
        break;
      case toml::node_type::table: {
        const toml::table &table = *value.as_table();
        node.kind = CTOML_TABLE;
        node.children = table.size();
        list.push_back(node);
        for (auto &&[name, child] : table) append(child, &name, depth + 1);
        return;
      }
      case toml::node_type::array: {
        const toml::array &array = *value.as_array();
        node.kind = CTOML_ARRAY;
        node.children = array.size();
        list.push_back(node);
        for (auto &&child : array) append(child, nullptr, depth + 1);
        return;
      }
      default:
        node.kind = CTOML_DATE;
        break;
    }
    list.push_back(node);
  }

  void parse(std::string_view text) {
    try {
      if (text.size() > CTOML_MAX_SIZE) throw refusal{"larger than 1 MiB", {1, 1}};
      check_keys(text);
      tree = toml::parse(text);
      append(tree, nullptr, 0);
      nodes = list.data();
      count = list.size();
    } catch (const refusal &refused) {
      error = refused.reason;
      error_place = refused.place;
    } catch (const toml::parse_error &failure) {
      message = failure.description();
      error = message.c_str();
      error_place = place(failure.source());
    }
  }
};

}  // namespace

extern "C" const ctoml_document *ctoml_parse(const char *bytes, size_t size) {
  owned_document *document = nullptr;
  try {
    document = new owned_document;
    document->parse({bytes, size});
    return document;
  } catch (...) {  // std::bad_alloc: the only thing left that can be thrown
    delete document;
    return nullptr;
  }
}

extern "C" void ctoml_free(const ctoml_document *document) {
  delete static_cast<const owned_document *>(document);
}
