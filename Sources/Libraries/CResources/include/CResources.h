#ifndef CRESOURCES_H
#define CRESOURCES_H

#include <stddef.h>

/// A file that is built into the program. Its bytes are there as long as the program runs.
struct __attribute__((swift_attr("@safe"))) awd_resource {
  const unsigned char *_Nonnull bytes;
  size_t count;
};

// A target of C that holds a module's files declares each of them in its header:
//
//   RESOURCE(msgr_app_js);
//
// and includes its bytes in its source:
//
//   BEGIN_RESOURCE(msgr_app_js)
//   #embed "../Web/app.js"
//   END_RESOURCE(msgr_app_js)
#define RESOURCE(name) struct awd_resource name(void)
#define BEGIN_RESOURCE(name) static const unsigned char name##_bytes[] = {
#define END_RESOURCE(name) \
  }; \
  struct awd_resource name(void) { \
    return (struct awd_resource){.bytes = name##_bytes, .count = sizeof name##_bytes}; \
  }

// `#embed` is of C23; the compiler knows it in every mode, and says so.
#pragma clang diagnostic ignored "-Wc23-extensions"

#endif
