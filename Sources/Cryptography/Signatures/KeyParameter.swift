import COpenSSL

/// A part of a key in OpenSSL's form (`OSSL_PARAM`), with its name.
enum KeyParameter {
    case text(String, String)
    case octets(String, [UInt8])
    /// A number in big-endian bytes.
    case number(String, [UInt8])

    /// Passes the parameters to `body` as an OpenSSL list.
    ///
    /// `OSSL_PARAM` and its builder keep pointers to names and values, so copies of both live until `body` returns. The
    /// copies are wiped, because one may be a private key.
    static func withList<Result>(_ parameters: [Self], _ body: (UnsafeMutablePointer<OSSL_PARAM>) -> Result) -> Result {
        var copies: [UnsafeMutableRawBufferPointer] = []
        defer {
            for copy in copies {
                OPENSSL_cleanse(copy.baseAddress, copy.count)
                copy.deallocate()
            }
        }
        func copied(_ bytes: [UInt8]) -> UnsafeMutableRawPointer? {
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 8)
            copy.copyBytes(from: bytes)
            copies.append(copy)
            return copy.baseAddress
        }
        func copied(text: String) -> UnsafeMutablePointer<CChar>? {
            copied(Array(text.utf8) + [0])?.assumingMemoryBound(to: CChar.self)
        }
        var list = parameters.map { parameter in
            switch parameter {
            case .text(let name, let value):
                OSSL_PARAM_construct_utf8_string(copied(text: name), copied(text: value), 0)
            case .octets(let name, let value):
                OSSL_PARAM_construct_octet_string(copied(text: name), copied(value), value.count)
            case .number(let name, let value):
                OSSL_PARAM_construct_BN(copied(text: name), Self.copied(number: value, copied), value.count)
            }
        }
        list.append(OSSL_PARAM_construct_end())
        return list.withUnsafeMutableBufferPointer { body($0.baseAddress.orStop("parameters")) }
    }

    /// Copies a number in the machine's byte order.
    private static func copied(
        number: [UInt8],
        _ copied: ([UInt8]) -> UnsafeMutableRawPointer?
    ) -> UnsafeMutablePointer<UInt8>? {
        #if _endian(little)
        copied(number.reversed())?.assumingMemoryBound(to: UInt8.self)
        #else
        copied(number)?.assumingMemoryBound(to: UInt8.self)
        #endif
    }
}
