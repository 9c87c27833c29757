package com.example.app

import org.json.JSONArray

/**
 * Another place where the user is signed in: an app or a browser.
 *
 * @param since the time of the sign-in (RFC 3339)
 * @param address the IP address of the sign-in; null if the gateway does not know the device
 */
class OtherSession(val id: String, val since: String, val address: String?, val userAgent: String?)

/**
 * The user's other sessions, the latest first. This app's session is not one of them. After a sign-in at `/authorize`, this needs
 * the scope `sessions`, and `manage_sessions` in the client's settings.
 */
suspend fun AppSession.otherSessions(): List<OtherSession> {
    val list = JSONArray(sessions("GET", "/sessions", 200))
    return List(list.length()) { index ->
        val session = list.getJSONObject(index)
        val device = session.getJSONArray("devices").optJSONObject(0)
        OtherSession(
            session.getString("id"), session.getString("issued_at"), device?.getString("ip_address"),
            device?.getString("user_agent"),
        )
    }
}

/** Signs one of the other sessions out, for example the lost phone. */
suspend fun AppSession.endSession(other: OtherSession) {
    // 404: the session has ended.
    sessions("DELETE", "/sessions/${other.id}", 204, 404)
}

/** Signs all the other sessions out, also the pages in this app's WebViews, which then get new ones. */
suspend fun AppSession.endOtherSessions() {
    sessions("DELETE", "/sessions", 200)
}

private suspend fun AppSession.sessions(method: String, path: String, vararg expected: Int): String {
    val answer = send(method, gateway.url(path))
    if (answer.status !in expected) throw gateway.refusal(answer)
    return answer.text
}
