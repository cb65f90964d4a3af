#include "EthereumResources.h"

BEGIN_RESOURCE(ethereum_ValidateSigOffchain_hex)
#embed "ValidateSigOffchain.hex"
END_RESOURCE(ethereum_ValidateSigOffchain_hex)
