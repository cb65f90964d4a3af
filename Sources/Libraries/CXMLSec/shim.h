#pragma once
/* SwiftPM drops the -D flags of xmlsec1-openssl.pc. */
#define XMLSEC_CRYPTO_OPENSSL 1
#define XMLSEC_NO_CRYPTO_DYNAMIC_LOADING 1
#define XMLSEC_NO_GOST 1
#define XMLSEC_NO_GOST2012 1
#define XMLSEC_NO_SIZE_T
#define XMLSEC_OPENSSL3_ENGINES 1
#define __XMLSEC_FUNCTION__ __func__
/* Debian's libxml2 shows ICU's headers, which clash with Foundation's own. Only the layout of
   xmlCharEncodingHandler depends on it, which is never looked into here. */
#include <libxml/xmlversion.h>
#undef LIBXML_ICU_ENABLED
#include <libxml/tree.h>
#include <xmlsec/xmlsec.h>
#include <xmlsec/base64.h>
#include <xmlsec/buffer.h>
#include <xmlsec/io.h>
#include <xmlsec/keys.h>
#include <xmlsec/transforms.h>
#include <xmlsec/xmltree.h>
#include <xmlsec/xmldsig.h>
#include <xmlsec/templates.h>
#include <xmlsec/errors.h>
#include <xmlsec/crypto.h>
#include <xmlsec/openssl/crypto.h>
#include <xmlsec/openssl/evp.h>
