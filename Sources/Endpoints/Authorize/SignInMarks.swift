import Cryptography
import Vocabulary

/// Sealed marks of authorization requests that were sent to the sign-in page. They prevent a second sign-in.
struct SignInMarks: Sendable {
    /// The query parameter that carries a mark.
    static let parameter = "sallyport_signed_in"
    private static let lifetime = Duration.seconds(3600)

    let keys: SealingKeyRing

    /// Returns a mark for these parameters at the time `now`.
    func mark(_ parameters: [(name: String, value: String)], now: UnixTime) -> String {
        var writer = CompactWriter()
        writer.write(now.milliseconds)
        return Base64URL.encode(self.keys.seal(writer.bytes, for: Self.place(parameters)))
    }

    /// Returns the time of a mark. `nil` if the mark is invalid, is for other parameters, or is too old.
    func time(in mark: String, of parameters: [(name: String, value: String)], now: UnixTime) -> UnixTime? {
        guard let sealed = Base64URL.decode(mark), let bytes = try? self.keys.open(sealed, for: Self.place(parameters))
        else { return nil }
        var reader = CompactReader(bytes)
        guard let milliseconds = try? reader.signed() else { return nil }
        let time = UnixTime(milliseconds: milliseconds)
        return now.since(time) <= Self.lifetime ? time : nil
    }

    /// Returns the sealing context of a mark. It differs from the contexts of records, which begin with `sp:`.
    private static func place(_ parameters: [(name: String, value: String)]) -> [UInt8] {
        Array("authorize ".utf8) + SHA256.digest(Array(FormText.encoded(parameters).utf8)).bytes
    }
}
