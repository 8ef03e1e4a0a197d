; Installer for Windows: for one user, without administrator's rights, in English and Simplified Chinese.
; makensis -DVERSION=0.1.0 -DSOURCE=<frozen folder> -DICON=<.ico> -DOUTPUT=<.exe> -DKILOBYTES=<size> inferometer.nsi
; The folder's two programs: inferometer.exe for the command line, inferometerw.exe for the window.
Unicode true
ManifestDPIAware true
SetCompressor /SOLID lzma
SetCompressorDictSize 64
!include "MUI2.nsh"
!include "FileFunc.nsh"

!define NAME "Inferometer"
!define KIND "Inferometer.Scenario"
!define UNINSTALL "Software\Microsoft\Windows\CurrentVersion\Uninstall\${NAME}"

Name "${NAME} ${VERSION}"
OutFile "${OUTPUT}"
InstallDir "$LOCALAPPDATA\Programs\${NAME}"
InstallDirRegKey HKCU "${UNINSTALL}" "InstallLocation"
RequestExecutionLevel user
BrandingText "${NAME} ${VERSION}"
VIProductVersion "${VERSION}.0"
VIAddVersionKey "ProductName" "${NAME}"
VIAddVersionKey "ProductVersion" "${VERSION}"
VIAddVersionKey "FileVersion" "${VERSION}"
VIAddVersionKey "FileDescription" "${NAME}"
VIAddVersionKey "LegalCopyright" "The ${NAME} authors, MIT licence"

!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_ABORTWARNING
!define MUI_FINISHPAGE_RUN "$INSTDIR\inferometerw.exe"
; The choice of the language is kept for the uninstaller.
!define MUI_LANGDLL_REGISTRY_ROOT "HKCU"
!define MUI_LANGDLL_REGISTRY_KEY "Software\${NAME}"
!define MUI_LANGDLL_REGISTRY_VALUENAME "Language"

!insertmacro MUI_PAGE_WELCOME
!insertmacro MUI_PAGE_COMPONENTS
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"
!insertmacro MUI_LANGUAGE "SimpChinese"
!insertmacro MUI_RESERVEFILE_LANGDLL

LangString PROGRAM ${LANG_ENGLISH} "Inferometer"
LangString PROGRAM ${LANG_SIMPCHINESE} "Inferometer 程序"
LangString OPENS ${LANG_ENGLISH} "Open scenario files (.inferometer)"
LangString OPENS ${LANG_SIMPCHINESE} "打开场景文件（.inferometer）"
LangString DESKTOP ${LANG_ENGLISH} "Shortcut on the desktop"
LangString DESKTOP ${LANG_SIMPCHINESE} "桌面快捷方式"
LangString SCENARIO ${LANG_ENGLISH} "Inferometer scenario"
LangString SCENARIO ${LANG_SIMPCHINESE} "Inferometer 场景"
LangString ABOUT_PROGRAM ${LANG_ENGLISH} "The program, its licences and a start menu entry."
LangString ABOUT_PROGRAM ${LANG_SIMPCHINESE} "程序本体、许可证文本和开始菜单项。"
LangString ABOUT_OPENS ${LANG_ENGLISH} "Scenario files open with a double click."
LangString ABOUT_OPENS ${LANG_SIMPCHINESE} "双击即可打开场景文件。"
LangString ABOUT_DESKTOP ${LANG_ENGLISH} "A shortcut on the desktop."
LangString ABOUT_DESKTOP ${LANG_SIMPCHINESE} "在桌面上放一个快捷方式。"
LangString RUNNING ${LANG_ENGLISH} "Inferometer is running. Close it, then try again."
LangString RUNNING ${LANG_SIMPCHINESE} "Inferometer 正在运行。请先关闭它，然后重试。"

; A program that runs holds its file open: writing over it half would leave a broken installation.
!macro REFUSE_WHILE_RUNNING ID
  IfFileExists "$INSTDIR\inferometerw.exe" 0 free_${ID}
  ClearErrors
  FileOpen $0 "$INSTDIR\inferometerw.exe" a
  IfErrors 0 close_${ID}
  MessageBox MB_OK|MB_ICONEXCLAMATION "$(RUNNING)" /SD IDOK
  Abort
close_${ID}:
  FileClose $0
free_${ID}:
!macroend

Section "$(PROGRAM)" part_program
  SectionIn RO
  !insertmacro REFUSE_WHILE_RUNNING install
  ; What an earlier version left must not be loaded by this one.
  RMDir /r "$INSTDIR\_internal"
  SetOutPath "$INSTDIR"
  File /r "${SOURCE}\*"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateShortcut "$SMPROGRAMS\${NAME}.lnk" "$INSTDIR\inferometerw.exe"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayName" "${NAME}"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayIcon" "$INSTDIR\inferometerw.exe"
  WriteRegStr HKCU "${UNINSTALL}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL}" "EstimatedSize" ${KILOBYTES}
  WriteRegDWORD HKCU "${UNINSTALL}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL}" "NoRepair" 1
SectionEnd

Section "$(OPENS)" part_opens
  WriteRegStr HKCU "Software\Classes\.inferometer" "" "${KIND}"
  WriteRegStr HKCU "Software\Classes\.inferometer" "Content Type" "application/vnd.inferometer.scenario+json"
  WriteRegStr HKCU "Software\Classes\${KIND}" "" "$(SCENARIO)"
  WriteRegStr HKCU "Software\Classes\${KIND}\DefaultIcon" "" "$INSTDIR\inferometerw.exe,0"
  WriteRegStr HKCU "Software\Classes\${KIND}\shell\open\command" "" '"$INSTDIR\inferometerw.exe" "%1"'
  ${RefreshShellIcons}
SectionEnd

Section /o "$(DESKTOP)" part_desktop
  CreateShortcut "$DESKTOP\${NAME}.lnk" "$INSTDIR\inferometerw.exe"
SectionEnd

!insertmacro MUI_FUNCTION_DESCRIPTION_BEGIN
  !insertmacro MUI_DESCRIPTION_TEXT ${part_program} "$(ABOUT_PROGRAM)"
  !insertmacro MUI_DESCRIPTION_TEXT ${part_opens} "$(ABOUT_OPENS)"
  !insertmacro MUI_DESCRIPTION_TEXT ${part_desktop} "$(ABOUT_DESKTOP)"
!insertmacro MUI_FUNCTION_DESCRIPTION_END

Function .onInit
  !insertmacro MUI_LANGDLL_DISPLAY
FunctionEnd

Function un.onInit
  !insertmacro MUI_UNGETLANGUAGE
FunctionEnd

Section "un.Uninstall"
  !insertmacro REFUSE_WHILE_RUNNING uninstall
  ; Only what was installed: the folder may hold files of the user.
  Delete "$INSTDIR\inferometer.exe"
  Delete "$INSTDIR\inferometerw.exe"
  RMDir /r "$INSTDIR\_internal"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\${NAME}.lnk"
  Delete "$DESKTOP\${NAME}.lnk"
  DeleteRegKey HKCU "${UNINSTALL}"
  DeleteRegKey HKCU "Software\Classes\${KIND}"
  ReadRegStr $0 HKCU "Software\Classes\.inferometer" ""
  StrCmp $0 "${KIND}" 0 others
  DeleteRegKey HKCU "Software\Classes\.inferometer"
others:
  DeleteRegKey HKCU "Software\${NAME}"
  ${RefreshShellIcons}
SectionEnd
