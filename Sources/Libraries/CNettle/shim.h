#pragma once
#include <nettle/sha3.h>
