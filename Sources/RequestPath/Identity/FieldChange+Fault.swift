package import Settings

extension FieldChange {
    /// Returns why a route may not change this field, as a clause to append to the field's name. `nil` if the change is
    /// allowed.
    package func fault(beside identity: IdentitySettings) -> String? {
        let profile = IdentityProfile(identity)
        let managed = profile.managed
        let roles = self.isOfRequest ? FieldNames.requestRoles : FieldNames.responseRoles
        let names = FieldNames(roles: roles, managedNames: managed.names, managedPrefixes: managed.prefixes)
        let name = ManagedNames.normalized(self.name)
        let role = Array(name.utf8).withUnsafeBufferPointer { names.role(of: $0) }
        if role.isHopByHop || FieldNames.ofConnections.contains(name) { return "which is for one connection only" }
        if FieldNames.ofContent.contains(name) { return "which says how the content is sent" }
        if name.hasPrefix("sec-websocket-") { return "which two ends of a WebSocket agree on" }
        if self.isOfRequest, role == .managed, ManagedNames.settable.contains(name),
            !profile.fields.contains(where: { ManagedNames.normalized($0.name) == name })
        {
            return nil
        }
        switch role {
        case .host: return "which the key host sets"
        case .contentLength, .transferEncoding, .expect: return "which says how the content is sent"
        case .authorization, .cookie, .sessionToken, .dpop: return "which is a credential"
        case .methodOverride: return "which changes the method that was judged"
        case .forwardedFor, .forwarded, .requestID, .native, .userAddress, .wantedPage, .managed:
            return "which only the gateway may set"
        case .earlyData: return "which says that a request may be a replay"
        // A route may remove trace fields, but not set them: a fixed value for all requests would identify no trace.
        case .traceParent where self.isSet, .traceState where self.isSet:
            return "which says of what trace one request is a part"
        default: break
        }
        // Every proxy adds to these fields. A route may only remove them, and only from answers, to hide server names.
        if FieldNames.ofTheWay.contains(name), self.isSet || self.isOfRequest {
            return "which says the way of the message"
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
