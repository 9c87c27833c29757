import Cryptography
import JOSE
import Vocabulary

/// The bytes of text.
func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// The value of a JSON document.
func json(_ text: String) -> JSONValue { JSONText.decode(bytes(text)) ?? .null }

/// The check that refuses what `body` reads; nil if it is accepted.
func refusal(_ body: () throws -> Void) -> JOSEError? {
    do {
        try body()
        return nil
    } catch {
        return error as? JOSEError ?? JOSEError("another error: \(error)")
    }
}

/// Keys that the tests of a process share, because an RSA key takes long to make.
enum Keys {
    static let es256 = SigningKey.generated(.es256)
    static let otherES256 = SigningKey.generated(.es256)
    static let rs256 = SigningKey.generated(.rs256)

    static let set = JWKSet(keys: [Self.es256, Self.rs256].map(\.publicKey))
}

extension SigningKey {
    /// A token of this key with the header's exact text.
    func token(header: String, payload: String = "{}") -> [UInt8] {
        let signed = bytes(Base64URL.encode(bytes(header)) + "." + Base64URL.encode(bytes(payload)))
        // The signature of another token, as a key signs only with its own header, would be wrong: sign with the key.
        return signed + bytes(".") + bytes(Base64URL.encode(self.signature(of: signed)))
    }
}

/// The members of an object.
///
/// - Throws: if the value is none.
func objectMembers(of value: JSONValue) throws -> [String: JSONValue] {
    guard case .object(let members) = value else { throw JOSEError("not an object: \(value)") }
    return members
}
