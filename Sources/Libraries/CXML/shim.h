#pragma once
/* Debian's libxml2 shows ICU's headers, which clash with Foundation's own. Only the layout of
   xmlCharEncodingHandler depends on it, which is never looked into here. */
#include <libxml/xmlversion.h>
#undef LIBXML_ICU_ENABLED
#include <libxml/c14n.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/tree.h>
#include <libxml/valid.h>
#include <libxml/xmlIO.h>
#include <libxml/xmlerror.h>
#include <libxml/xmlschemas.h>
#include <libxml/xmlschemastypes.h>
#include <libxml/xpath.h>

/* Error handlers of the generic kind are variadic, which Swift can't write. Threads that start later
   inherit the second setting. */
static inline void cxml_ignore_error(void *context, const char *message, ...) {
  (void)context;
  (void)message;
}
static inline void cxml_silence_generic_errors(void) {
  xmlSetGenericErrorFunc((void *)0, cxml_ignore_error);
  xmlThrDefSetGenericErrorFunc((void *)0, cxml_ignore_error);
}

/* A variable that holds a function, which Swift takes for shared mutable state. */
static inline void cxml_free(void *memory) { xmlFree(memory); }
