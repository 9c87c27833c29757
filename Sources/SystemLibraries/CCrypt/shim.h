#pragma once
#include <crypt.h>

// Swift would import the struct's arrays as tuples, one of them with 30,720 elements.
static const int sallyport_CRYPT_DATA_SIZE = sizeof(struct crypt_data);
