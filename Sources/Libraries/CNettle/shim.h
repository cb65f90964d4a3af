#pragma once
#include <nettle/sha3.h>
#include <nettle/version.h>
