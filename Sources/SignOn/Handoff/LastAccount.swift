package import Vocabulary

/// The browser's cookie with a mark of the account that it used last.
package enum LastAccount {
    /// Returns the mark in the cookies. `nil` if there is none. For several different marks, returns one that matches
    /// no account, so that a planted cookie cannot suppress the confirmation.
    package static func mark(_ values: Set<[UInt8]>) -> Secret? {
        values.count > 1 ? Secret([]) : values.first.map { Secret($0) }
    }
}
