import Cryptography
import Vocabulary

/// Marks by which an authorization request that comes back from the sign-in page is recognised, so that a user who was
/// asked to sign in again is asked once.
struct SignInMarks: Sendable {
    /// The query parameter.
    static let parameter = "sallyport_signed_in"
    private static let lifetime = Duration.seconds(3600)

    let keys: SealingKeyRing

    /// A mark of the present time for these parameters.
    func mark(_ parameters: [(name: String, value: String)], now: UnixTime) -> String {
        var writer = CompactWriter()
        writer.write(now.milliseconds)
        return Base64URL.encode(self.keys.seal(writer.bytes, for: Self.place(parameters)))
    }

    /// The time of a mark; nil if this deployment did not make it for these parameters, or it is too old.
    func time(in mark: String, of parameters: [(name: String, value: String)], now: UnixTime) -> UnixTime? {
        guard let sealed = Base64URL.decode(mark), let bytes = try? self.keys.open(sealed, for: Self.place(parameters))
        else { return nil }
        var reader = CompactReader(bytes)
        guard let milliseconds = try? reader.signed() else { return nil }
        let time = UnixTime(milliseconds: milliseconds)
        return now.since(time) <= Self.lifetime ? time : nil
    }

    /// Nothing else is sealed for such a place: the places of records begin with `sp:`.
    private static func place(_ parameters: [(name: String, value: String)]) -> [UInt8] {
        Array("authorize ".utf8) + SHA256.digest(Array(FormText.encoded(parameters).utf8)).bytes
    }
}
