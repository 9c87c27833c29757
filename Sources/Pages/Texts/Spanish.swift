extension PageLanguage {
    static let spanish = PageLanguage(
        tag: "es",
        table: """
            sign_in.title: Iniciar sesión
            sign_in.host: para continuar a {host}
            sign_in.identifier: Correo electrónico o nombre de usuario
            sign_in.password: Contraseña
            sign_in.show_password: Mostrar la contraseña
            sign_in.caps_lock: El bloqueo de mayúsculas está activado.
            sign_in.stay: Mantener la sesión iniciada en este dispositivo
            sign_in.submit: Iniciar sesión
            sign_in.continue: Continuar
            sign_in.provider: Continuar con {provider}
            sign_in.last_used: Último usado en este dispositivo
            sign_in.or: o
            sign_in.away: No disponible en este momento
            sign_in.other: o iniciar sesión con otra cuenta
            notice.refused: Nombre de usuario o contraseña incorrectos. Inténtelo de nuevo.
            notice.incomplete: Escriba su nombre de usuario y su contraseña.
            notice.no_identifier: Escriba su correo electrónico o su nombre de usuario.
            notice.throttled: Demasiados intentos. Espere antes de volver a intentarlo.
            notice.unavailable: No es posible iniciar sesión en este momento. Inténtelo de nuevo en breve.
            notice.cross_site: Este inicio de sesión no se envió desde esta página. Escriba de nuevo su contraseña.
            notice.again: La página que quiere abrir exige que inicie sesión de nuevo.
            notice.handoff: No se ha podido iniciar su sesión automáticamente. Inicie sesión aquí.
            notice.ended: Su sesión ha terminado. Inicie sesión para volver a la página que quería.
            notice.idle: Se ha cerrado su sesión porque lleva un tiempo sin usar este sitio. Inicie sesión para volver a la página que quería.
            notice.idle_for: Se ha cerrado su sesión porque no ha usado este sitio durante {time}. Inicie sesión para volver a la página que quería.
            notice.expired: Se ha cerrado su sesión porque la inició hace demasiado tiempo. Inicie sesión para volver a la página que quería.
            notice.expired_after: Se ha cerrado su sesión porque una sesión dura como máximo {time}. Inicie sesión para volver a la página que quería.
            notice.sign_out_uncertain: No es posible cerrar la sesión en este momento, así que puede que siga abierta. Inténtelo de nuevo en breve.
            wait.seconds: Podrá intentarlo de nuevo dentro de {count} segundos.
            wait.minutes: Podrá intentarlo de nuevo dentro de {count} minutos.
            time.minutes: {count} minutos
            time.hours: {count} horas
            time.days: {count} días
            signed_out.title: Sesión cerrada
            signed_out.text: Ha cerrado la sesión en todas las páginas de este sitio.
            signed_out.sign_in: Iniciar sesión de nuevo
            sign_out.title: Cerrar sesión
            sign_out.question: ¿Quiere cerrar la sesión en {host}?
            sign_out.submit: Cerrar sesión
            sign_out.stay: Mantener la sesión iniciada
            confirm.title: ¿Iniciar sesión con esta cuenta?
            confirm.account: Se iniciará sesión en {host} como {account}.
            confirm.own: Continúe solo si esta cuenta es suya y acaba de abrir esta página desde su aplicación o desde un enlace que ha pedido.
            confirm.actor: Continúe solo si usted es {actor} y actúa en nombre de esta cuenta.
            confirm.submit: Iniciar sesión
            confirm.elsewhere: Continuar sin esta cuenta
            sessions.title: Dónde ha iniciado sesión
            sessions.advice: Si no reconoce alguna de estas sesiones, ciérrela y cambie su contraseña.
            sessions.advice_provider: Si no reconoce alguna de estas sesiones, ciérrela y cambie la contraseña de la cuenta con la que inicia sesión.
            sessions.change_password: Cambiar la contraseña
            sessions.sign_out_here: Cerrar sesión aquí
            sessions.current: Esta sesión
            sessions.sign_out: Cerrar sesión
            sessions.sign_out_named: Cerrar la sesión de {device}
            sessions.others: Cerrar sesión en todos los demás dispositivos
            sessions.browser: Navegador
            sessions.app: Aplicación
            sessions.transfer: Navegador abierto por una aplicación
            sessions.actor: usada por {actor} en su nombre
            sessions.address: desde {address}
            sessions.seen: última actividad: {time}
            sessions.host: en {host}
            sessions.device: {program} en {system}
            sessions.unknown_device: Dispositivo desconocido
            page.support: Ayuda
            page.reason: Motivo
            page.request: Solicitud
            page.account: Ha iniciado sesión como {account}.
            form_post.title: Un momento
            form_post.submit: Continuar
            link.again: Intentarlo de nuevo
            link.start: Ir a la página de inicio
            link.client: Volver a la aplicación
            link.sign_in: Iniciar sesión
            link.other_account: Iniciar sesión con otra cuenta
            refusal.asks_app: La aplicación que muestra esta página volverá a iniciar su sesión. Si no lo hace, abra la página otra vez desde la aplicación o inicie sesión aquí.
            form.uncertain: No se sabe si ha llegado lo que escribió.
            form.check_first: Antes de enviarlo de nuevo, compruebe si la operación ya se realizó.
            form.not_sent: Lo que escribió no se ha transmitido y no se guarda.
            form.send_again: Use el botón Atrás de su navegador y envíe el formulario de nuevo dentro de un momento.
            form.sign_in: Inicie sesión y envíe el formulario de nuevo. Puede que el botón Atrás de su navegador aún muestre lo que escribió.
            refusal.cross_site.title: Esta solicitud viene de otro sitio
            refusal.cross_site.event: Por su seguridad, los enlaces y formularios de otros sitios no pueden actuar aquí en su nombre.
            refusal.cross_site.advice: Abra usted mismo este sitio e inténtelo de nuevo desde aquí.
            refusal.ambiguous_address.title: Dirección no válida
            refusal.ambiguous_address.event: La dirección podría referirse a más de una página.
            refusal.ambiguous_address.advice: Compruebe que la dirección no tenga errores o vaya a la página de inicio.
            refusal.session_ended.title: Inicie sesión de nuevo
            refusal.session_ended.event: Su sesión ha terminado.
            refusal.session_ended.advice: Inicie sesión de nuevo para continuar.
            refusal.network_changed.title: Inicie sesión de nuevo
            refusal.network_changed.event: Su dispositivo ha cambiado de red desde que inició la sesión.
            refusal.network_changed.advice: Inicie sesión de nuevo para continuar.
            refusal.sign_in_cancelled.title: Inicio de sesión cancelado
            refusal.sign_in_cancelled.event: El inicio de sesión fue cancelado por usted o por el servicio de acceso.
            refusal.sign_in_cancelled.advice: Inténtelo de nuevo, o cierre esta página si ha cambiado de opinión.
            refusal.interaction_required.title: Inicie sesión
            refusal.interaction_required.event: El servicio de acceso necesita antes una respuesta suya.
            refusal.interaction_required.advice: Inicie sesión para continuar.
            refusal.provider_error.title: No se pudo iniciar sesión
            refusal.provider_error.event: El servicio de acceso comunicó un error.
            refusal.provider_error.advice: Inténtelo de nuevo. Si vuelve a ocurrir, póngase en contacto con los administradores de este sitio e indíqueles el motivo que figura abajo.
            refusal.invalid_token.title: No se pudo iniciar sesión
            refusal.invalid_token.event: No se pudo comprobar la respuesta del servicio de acceso.
            refusal.invalid_token.advice: Inténtelo de nuevo. Si vuelve a ocurrir, póngase en contacto con los administradores de este sitio e indíqueles el motivo que figura abajo.
            refusal.state_mismatch.title: No se pudo completar este inicio de sesión
            refusal.state_mismatch.event: Tardó demasiado, se empezó en otro navegador o al mismo tiempo que demasiados otros, o su navegador bloquea las cookies de este sitio.
            refusal.state_mismatch.advice: Permita las cookies de este sitio e inténtelo de nuevo.
            refusal.not_allowed.title: Su cuenta no tiene acceso a este sitio
            refusal.not_allowed.event: Ha iniciado sesión con una cuenta que no está autorizada a usar este sitio.
            refusal.not_allowed.advice: Pida acceso a los administradores de este sitio o inicie sesión con otra cuenta.
            refusal.insufficient.title: Se necesita un inicio de sesión más seguro
            refusal.insufficient.event: Ha iniciado sesión, pero la página que quiere exige un inicio de sesión más seguro o más reciente.
            refusal.insufficient.advice: Inténtelo de nuevo y confirme con un segundo factor o con su contraseña si se le pide.
            refusal.repeated.title: Su sesión no se mantiene
            refusal.repeated.event: Ha iniciado sesión varias veces en un minuto, pero su navegador no ha conservado la sesión.
            refusal.repeated.advice: Permita las cookies de este sitio e inténtelo de nuevo. Si vuelve a ocurrir, póngase en contacto con los administradores de este sitio.
            refusal.bad_link.title: Este enlace no funciona
            refusal.bad_link.event: La aplicación que le envió aquí no está registrada con esta dirección.
            refusal.bad_link.advice: Vuelva a la aplicación. Si ocurre de nuevo, póngase en contacto con los creadores de la aplicación.
            refusal.request_used.title: Este inicio de sesión ya no es válido
            refusal.request_used.event: Ya se ha usado, o tardó demasiado.
            refusal.request_used.advice: Vuelva a la aplicación e inicie sesión allí de nuevo.
            refusal.flow_ended.title: Este inicio de sesión ya no es válido
            refusal.flow_ended.event: Tardó demasiado, o su dirección está incompleta.
            refusal.flow_ended.advice: Vuelva a la aplicación e inicie sesión allí de nuevo.
            refusal.prefetched_sign_in.title: Abra esta página otra vez
            refusal.prefetched_sign_in.event: Su navegador cargó el inicio de sesión por adelantado, antes de que usted lo abriera.
            refusal.prefetched_sign_in.advice: Ábrala ahora.
            refusal.too_old.title: Inicie sesión de nuevo
            refusal.too_old.event: Esta página exige un inicio de sesión más reciente que el suyo.
            refusal.too_old.advice: Inicie sesión de nuevo para continuar.
            refusal.second_factor.title: Se necesita un segundo factor
            refusal.second_factor.event: Esta página exige un inicio de sesión más seguro que el suyo.
            refusal.second_factor.advice: Inicie sesión con una cuenta que tenga un segundo factor o póngase en contacto con los administradores de este sitio.
            refusal.only_user.title: Solo el usuario puede abrir esta página
            refusal.only_user.event: Usted actúa en nombre del usuario de esta cuenta, y solo el usuario puede abrir esta página.
            refusal.only_user.advice: Continúe con otra página, o deje que lo haga el usuario.
            refusal.no_access.title: No tiene acceso a esta página
            refusal.no_access.event: Ha iniciado sesión, pero su cuenta no está autorizada a abrir esta página.
            refusal.no_access.advice: Pida acceso a los administradores de este sitio o inicie sesión con otra cuenta.
            refusal.apps_only.title: Esta página solo está disponible en la aplicación
            refusal.apps_only.event: Ha iniciado sesión, pero esta página no se puede abrir en un navegador.
            refusal.apps_only.advice: Use la aplicación o vaya a la página de inicio.
            refusal.unusable_account.title: Su cuenta no se puede usar aquí
            refusal.unusable_account.event: Su cuenta contiene datos que la aplicación no puede aceptar.
            refusal.unusable_account.advice: Póngase en contacto con los administradores de este sitio e indíqueles el motivo que figura abajo.
            refusal.prefetched_link.title: Abra este enlace otra vez
            refusal.prefetched_link.event: Su navegador cargó esta página por adelantado, antes de que usted la abriera.
            refusal.prefetched_link.advice: Ábralo ahora.
            refusal.unconfirmed.title: Este inicio de sesión ya no es válido
            refusal.unconfirmed.event: No se confirmó en menos de un minuto, o su navegador bloquea las cookies de este sitio.
            refusal.unconfirmed.advice: Abra la página otra vez desde donde llegó, o inicie sesión.
            refusal.already_signed_in.title: Ya ha iniciado sesión
            refusal.already_signed_in.event: El enlace es para otra cuenta y solo funciona si nadie ha iniciado sesión aquí.
            refusal.already_signed_in.advice: Cierre la sesión aquí y pida un enlace nuevo donde obtuvo este.
            refusal.rule_denied.title: Esto no está permitido
            refusal.rule_denied.event: Las reglas de este sitio no permiten este inicio de sesión.
            refusal.rule_denied.advice: Si cree que se trata de un error, póngase en contacto con los administradores de este sitio.
            refusal.too_many_sessions.title: Ha iniciado sesión en demasiados dispositivos
            refusal.too_many_sessions.event: El número de dispositivos en los que puede haber iniciado sesión al mismo tiempo es limitado.
            refusal.too_many_sessions.advice: En un dispositivo en el que haya iniciado sesión, abra la lista de sus sesiones y cierre una. Después, inicie sesión aquí de nuevo.
            refusal.ticket_used.title: No se pudo completar este inicio de sesión
            refusal.ticket_used.event: Tardó demasiado, o su dirección ya se ha usado.
            refusal.ticket_used.advice: Inténtelo de nuevo. Si ya ha iniciado sesión, no se le pedirá otra vez.
            refusal.other_browser.title: No se pudo completar este inicio de sesión
            refusal.other_browser.event: Se empezó en otro navegador, ya se ha completado, o su navegador bloquea las cookies de este sitio.
            refusal.other_browser.advice: Permita las cookies de este sitio e inténtelo de nuevo.
            refusal.no_cookie.title: Su sesión no se mantiene
            refusal.no_cookie.event: Ha iniciado sesión, pero su navegador no ha conservado la sesión.
            refusal.no_cookie.advice: Permita las cookies de este sitio y abra otra vez la página que quiere ver.
            refusal.ticket_malformed.title: Dirección no válida
            refusal.ticket_malformed.event: La dirección pertenece a un inicio de sesión que ya terminó.
            refusal.ticket_malformed.advice: Abra otra vez la página que quiere ver.
            refusal.unchecked.title: Inténtelo de nuevo en un momento
            refusal.unchecked.event: En este momento no se puede comprobar su sesión, pero no se ha cerrado.
            refusal.unchecked.advice: Espere unos segundos e inténtelo de nuevo.
            refusal.overloaded.title: Inténtelo de nuevo en un momento
            refusal.overloaded.event: Este sitio está sobrecargado en este momento.
            refusal.overloaded.advice: Espere unos segundos e inténtelo de nuevo.
            refusal.app_unreachable.title: La aplicación no está disponible
            refusal.app_unreachable.event: La aplicación no responde en este momento.
            refusal.app_unreachable.advice: Espere unos segundos e inténtelo de nuevo. Si el problema continúa, póngase en contacto con los administradores de este sitio.
            refusal.app_slow.title: La aplicación tarda demasiado
            refusal.app_slow.event: La aplicación no respondió a tiempo.
            refusal.app_slow.advice: Espere unos segundos e inténtelo de nuevo. Si el problema continúa, póngase en contacto con los administradores de este sitio.
            refusal.app_broken.title: La aplicación no respondió correctamente
            refusal.app_broken.event: La aplicación no dio ninguna respuesta que se pueda mostrar.
            refusal.app_broken.advice: Espere unos segundos e inténtelo de nuevo. Si el problema continúa, póngase en contacto con los administradores de este sitio.
            refusal.unauthenticated.title: Inicie sesión
            refusal.unauthenticated.event: No ha iniciado sesión, o su sesión ha terminado.
            refusal.unauthenticated.advice: Inicie sesión para continuar.
            refusal.forbidden.title: Esto no está permitido
            refusal.forbidden.event: No está autorizado a hacer esto aquí.
            refusal.forbidden.advice: Si cree que se trata de un error, póngase en contacto con los administradores de este sitio.
            refusal.not_found.title: Página no encontrada
            refusal.not_found.event: No hay nada en esta dirección.
            refusal.not_found.advice: Compruebe que la dirección no tenga errores o vaya a la página de inicio.
            refusal.unknown_host.title: Página no encontrada
            refusal.unknown_host.event: No hay ningún sitio con este nombre aquí.
            refusal.unknown_host.advice: Compruebe que la dirección no tenga errores.
            refusal.wrong_method.title: Esto no funciona aquí
            refusal.wrong_method.event: Esta dirección existe, pero no se puede usar de este modo.
            refusal.wrong_method.advice: Vuelva atrás o vaya a la página de inicio.
            refusal.slow_request.title: Esto tardó demasiado
            refusal.slow_request.event: Su solicitud no llegó a tiempo.
            refusal.slow_request.advice: Compruebe su conexión e inténtelo de nuevo.
            refusal.too_large.title: Esto es demasiado grande
            refusal.too_large.event: Ha enviado más de lo que esta página acepta.
            refusal.too_large.advice: Vuelva atrás y envíe un archivo más pequeño o menos texto.
            refusal.long_address.title: Esta dirección es demasiado larga
            refusal.long_address.event: La dirección es más larga de lo que este sitio acepta.
            refusal.long_address.advice: Vuelva atrás y escriba menos, o vaya a la página de inicio.
            refusal.too_many.title: Espere un momento
            refusal.too_many.event: Desde su conexión llegaron demasiadas solicitudes en poco tiempo.
            refusal.too_many.advice: Espere un minuto e inténtelo de nuevo.
            refusal.large_fields.title: Su navegador envió demasiados datos
            refusal.large_fields.event: Su navegador envió más cookies u otros datos de los que este sitio acepta.
            refusal.large_fields.advice: Borre las cookies de este sitio en los ajustes de su navegador e inténtelo de nuevo.
            refusal.failed.title: Inténtelo de nuevo en un momento
            refusal.failed.event: Esta página no se puede mostrar en este momento.
            refusal.failed.advice: Espere unos segundos e inténtelo de nuevo.
            refusal.not_understood.title: No se entendió esta solicitud
            refusal.not_understood.event: Su navegador, o algo entre él y este sitio, envió una solicitud no válida.
            refusal.not_understood.advice: Inténtelo de nuevo. Si vuelve a ocurrir, use otro navegador u otra red.
            """
    )
}
