#include <CResources.h>

RESOURCE(ethereum_ValidateSigOffchain_hex);
