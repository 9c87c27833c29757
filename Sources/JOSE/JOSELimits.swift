/// The sizes that are accepted. What is larger is refused before it is read.
package enum JOSELimits {
    /// A token in compact form, in bytes. An id_token with the groups of a large company has tens of kilobytes; an access
    /// token must fit into a header field and has a limit of its own.
    package static let token = 65_536
    /// The document of a key set, in bytes.
    package static let keySet = 262_144
    /// The keys of a set, with those that are left out.
    package static let keys = 100
    /// The levels of a JSON document.
    static let depth = 16
    /// The keys that are tried for one token: those of its `kid`, or all without one, that fit its algorithm.
    static let attempts = 16
}
