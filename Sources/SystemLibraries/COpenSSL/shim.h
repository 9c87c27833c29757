#pragma once
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Swift does not import macros that are expressions.
static const int sallyport_EVP_PKEY_PUBLIC_KEY = EVP_PKEY_PUBLIC_KEY;
static const int sallyport_EVP_PKEY_KEYPAIR = EVP_PKEY_KEYPAIR;
static const unsigned long sallyport_XN_FLAG_RFC2253 = XN_FLAG_RFC2253;
static const int sallyport_X509_VERSION_3 = X509_VERSION_3;
