package import Vocabulary

/// The account that a browser used last, as its cookie shows it.
package enum LastAccount {
    /// The mark to judge a token by; nil if the browser shows none. Several different ones are that of no account, so that
    /// the user is asked: whoever can plant a second cookie must not turn the question off.
    package static func mark(_ values: Set<[UInt8]>) -> Secret? {
        values.count > 1 ? Secret([]) : values.first.map { Secret($0) }
    }
}
