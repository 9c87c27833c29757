package import Settings

extension FieldChange {
    /// Why a route may not make this change, for a message after the field's name; nil: it may.
    package func fault(beside identity: IdentitySettings) -> String? {
        let managed = IdentityProfile(identity).managed
        let roles = self.isOfRequest ? FieldNames.requestRoles : FieldNames.responseRoles
        let names = FieldNames(roles: roles, managedNames: managed.names, managedPrefixes: managed.prefixes)
        let name = ManagedNames.normalized(self.name)
        let role = Array(name.utf8).withUnsafeBufferPointer { names.role(of: $0) }
        if role.isHopByHop { return "which is for one connection only" }
        switch role {
        case .host: return "which the key host sets"
        case .contentLength, .transferEncoding, .expect: return "which says how the content is sent"
        case .authorization, .cookie, .sessionToken, .dpop: return "which is a credential"
        case .methodOverride: return "which changes the method that was judged"
        case .forwardedFor, .forwarded, .requestID, .native, .userAddress, .wantedPage, .managed:
            return "which only the gateway may set"
        default: break
        }
        if self.isOfRequest { return nil }
        switch role {
        case .cacheControl, .sharedCacheControl: return "which the key cache governs"
        case .location where self.isSet: return "which belongs to one answer"
        case .setCookie where self.isSet: return "which is a credential"
        default: break
        }
        if name.hasSuffix("-cache-control") { return "which the key cache governs" }
        if name == "strict-transport-security" { return "which the key strict_transport_security sets" }
        if name.hasPrefix("access-control-") { return "which the key cors governs" }
        return nil
    }
}
