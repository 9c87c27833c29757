/// One condition of readiness.
typealias ReadinessCheck = (name: String, ok: Bool, detail: String)
