/// The sizes that are accepted. What is larger is refused before it is read.
package enum JOSELimits {
    /// A token in compact form, in bytes.
    package static let token = 8192
    /// The document of a key set, in bytes.
    package static let keySet = 262_144
    /// The keys of a set, with those that are left out.
    package static let keys = 100
    /// The levels of a JSON document.
    static let depth = 16
    /// Without `kid` in a token, the keys that are tried.
    static let attempts = 4
}
