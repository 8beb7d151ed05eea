// The benches' jobs with simdjson: On-Demand, which validates nothing that it skips, and the DOM parser, which validates
// everything. Values leave as the bytes that came in. Parsers are kept from run to run, as simdjson advises.

#include <cstring>
#include <string_view>

#include <simdjson.h>

using namespace simdjson;

namespace {

struct View {
    const char *data;
    size_t length;

    std::string_view get() const { return {data, length}; }
};

struct Field {
    View key;
    const View *path;
    size_t depth;
};

// Output of a fixed size: what does not fit makes the job fail.
struct Output {
    char *next;
    char *end;
    bool full = false;

    void put(std::string_view text) {
        if (size_t(end - next) < text.size()) {
            full = true;
            return;
        }
        std::memcpy(next, text.data(), text.size());
        next += text.size();
    }

    void put(char byte) { put(std::string_view(&byte, 1)); }
};

constexpr size_t FAILED = ~size_t(0);

#define TAMIS_TEXT(name) TAMIS_QUOTED(name)
#define TAMIS_QUOTED(name) #name
constexpr std::string_view KERNEL = TAMIS_TEXT(SIMDJSON_BUILTIN_IMPLEMENTATION);

// Only On-Demand's second stage is compiled for a kernel. Its first stage and the DOM parser use the active kernel, which
// is the best of the CPU by default. It is set to the same kernel before a parser is made.
const bool activated = [] {
    const implementation *kernel = get_available_implementations()[KERNEL];
    if (kernel == nullptr) return false;
    get_active_implementation() = kernel;
    return true;
}();

ondemand::parser &parser() {
    thread_local ondemand::parser parser;
    return parser;
}

error_code select(ondemand::document &document, const View *root, size_t roots, const Field *fields,
                  size_t count, Output &output) {
    ondemand::array items;
    if (roots == 0) {
        SIMDJSON_TRY(document.get_array().get(items));
    } else {
        ondemand::value value;
        SIMDJSON_TRY(document.find_field(root[0].get()).get(value));
        for (size_t at = 1; at < roots; at++) {
            ondemand::value next;
            SIMDJSON_TRY(value.find_field(root[at].get()).get(next));
            value = next;
        }
        SIMDJSON_TRY(value.get_array().get(items));
    }
    for (size_t at = 0; at < roots; at++) {
        output.put("{\"");
        output.put(root[at].get());
        output.put("\":");
    }
    output.put('[');
    bool first_item = true;
    for (auto element : items) {
        ondemand::object item;
        SIMDJSON_TRY(element.get_object().get(item));
        if (!first_item) output.put(',');
        first_item = false;
        for (size_t at = 0; at < count; at++) {
            const Field &field = fields[at];
            ondemand::value value;
            SIMDJSON_TRY(item.find_field(field.path[0].get()).get(value));
            for (size_t step = 1; step < field.depth; step++) {
                ondemand::value next;
                SIMDJSON_TRY(value.find_field(field.path[step].get()).get(next));
                value = next;
            }
            std::string_view text;
            SIMDJSON_TRY(to_json_string(value).get(text));
            output.put(at == 0 ? "{\"" : ",\"");
            output.put(field.key.get());
            output.put("\":");
            output.put(text);
        }
        output.put('}');
    }
    output.put(']');
    for (size_t at = 0; at < roots; at++) output.put('}');
    return SUCCESS;
}

// For compact documents: a member is copied from the quote of its key to the end of its value.
error_code exclude(ondemand::document &document, const View *names, size_t count, Output &output) {
    ondemand::array items;
    SIMDJSON_TRY(document.get_array().get(items));
    output.put('[');
    bool first_item = true;
    for (auto element : items) {
        ondemand::object item;
        SIMDJSON_TRY(element.get_object().get(item));
        if (!first_item) output.put(',');
        first_item = false;
        bool first_member = true;
        output.put('{');
        for (auto member : item) {
            ondemand::field field;
            SIMDJSON_TRY(std::move(member).get(field));
            bool out = false;
            for (size_t at = 0; at < count && !out; at++)
                out = field.key().unsafe_is_equal(names[at].get());
            if (out) continue;
            const char *start = field.key().raw() - 1;
            std::string_view value;
            SIMDJSON_TRY(to_json_string(field.value()).get(value));
            if (!first_member) output.put(',');
            first_member = false;
            output.put(std::string_view(start, size_t(value.data() + value.size() - start)));
        }
        output.put('}');
    }
    output.put(']');
    return SUCCESS;
}

error_code path(ondemand::document &document, const View *names, size_t count, Output &output) {
    ondemand::value value;
    SIMDJSON_TRY(document.find_field(names[0].get()).get(value));
    for (size_t at = 1; at < count; at++) {
        ondemand::value next;
        SIMDJSON_TRY(value.find_field(names[at].get()).get(next));
        value = next;
    }
    std::string_view text;
    SIMDJSON_TRY(to_json_string(value).get(text));
    output.put(text);
    return SUCCESS;
}

template <typename Job>
size_t run(const char *json, size_t length, size_t capacity, char *out, size_t space, Job job) {
    if (!activated) return FAILED;
    Output output{out, out + space};
    ondemand::document document;
    if (parser().iterate(json, length, capacity).get(document)) return FAILED;
    if (job(document, output) || output.full) return FAILED;
    return size_t(output.next - out);
}

} // namespace

extern "C" {

size_t tamis_simdjson_select(const char *json, size_t length, size_t capacity, const View *root,
                             size_t roots, const Field *fields, size_t count, char *out,
                             size_t space) {
    return run(json, length, capacity, out, space, [&](auto &document, auto &output) {
        return select(document, root, roots, fields, count, output);
    });
}

size_t tamis_simdjson_exclude(const char *json, size_t length, size_t capacity, const View *names,
                              size_t count, char *out, size_t space) {
    return run(json, length, capacity, out, space, [&](auto &document, auto &output) {
        return exclude(document, names, count, output);
    });
}

size_t tamis_simdjson_path(const char *json, size_t length, size_t capacity, const View *names,
                           size_t count, char *out, size_t space) {
    return run(json, length, capacity, out, space, [&](auto &document, auto &output) {
        return path(document, names, count, output);
    });
}

// Whether it is valid.
bool tamis_simdjson_dom(const char *json, size_t length) {
    thread_local dom::parser parser;
    return activated && parser.parse(json, length, false).error() == SUCCESS;
}

// The version of simdjson.
const char *tamis_simdjson_version(size_t *length) {
    constexpr std::string_view version = SIMDJSON_VERSION;
    *length = version.size();
    return version.data();
}

// The name of the kernel that On-Demand was compiled for.
const char *tamis_simdjson_kernel(size_t *length) {
    *length = KERNEL.size();
    return KERNEL.data();
}
}
