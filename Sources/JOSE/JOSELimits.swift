/// The limits of accepted sizes. Larger inputs are rejected.
package enum JOSELimits {
    /// The maximum size in bytes of a token in compact form. An id_token with the groups of a large company has tens of
    /// kilobytes. Access tokens must fit into a header field and have a separate limit.
    package static let token = 65_536
    /// The maximum size in bytes of a key set's document.
    package static let keySet = 262_144
    /// The maximum number of keys in a set, including keys that are left out.
    package static let keys = 100
    /// The maximum nesting depth of a JSON document.
    static let depth = 16
    /// The maximum number of keys that are tried for one token.
    static let attempts = 16
}
